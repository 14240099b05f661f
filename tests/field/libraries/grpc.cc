// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libgrpc++-dev libprotobuf-dev
// Flags: -std=c++17 $(pkg-config --cflags --libs grpc++ grpc gpr)
// gRPC: a server and a client in one process, on the loopback interface, with generic calls. The tag of a call is a block that
// the thread of its completion queue owns after the queue has returned it.
#include "planted.h"
#include <cstdio>
#include <cstdlib>
#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <string>
#include <thread>

enum { CALLS = 30, ALARMS = 30 };

static void use(int)
{
    grpc::Slice own("text");
    grpc::ByteBuffer buffer(&own, 1);
}

// A call at the server, and how far it is.
struct Served {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream{&context};
    grpc::ByteBuffer message;
    int step = 0;
};

static void serve(grpc::AsyncGenericService *service, grpc::ServerCompletionQueue *queue, int *served)
{
    void *tag;
    bool ok;
    auto *first = new Served;
    service->RequestCall(&first->context, &first->stream, queue, queue, first);
    while (queue->Next(&tag, &ok)) {
        auto *call = static_cast<Served *>(tag);
        if (!ok || call->step == 2) {
            *served += call->step == 2;
            delete call;
        } else if (call->step++ == 0) {
            auto *next = new Served;
            service->RequestCall(&next->context, &next->stream, queue, queue, next);
            call->stream.Read(&call->message, call);
        } else {
            call->stream.WriteAndFinish(call->message, grpc::WriteOptions(), grpc::Status::OK, call);
        }
    }
}

struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer request, response;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    std::string text;
};

// Takes finished calls, which another thread has started.
static void finish(grpc::CompletionQueue *queue, long *sum)
{
    void *tag;
    bool ok;
    while (queue->Next(&tag, &ok)) {
        auto *call = static_cast<Call *>(tag);
        std::vector<grpc::Slice> slices;
        if (!call->status.ok())
            printf("%s\n", call->status.error_message().c_str());
        call->response.Dump(&slices);
        for (const grpc::Slice &slice : slices)
            *sum += slice.size();
        *sum += call->text.size();
        delete call;
    }
}

struct Ring {
    grpc::Alarm alarm;
    int number;
};

static void take_alarms(grpc::CompletionQueue *queue, long *sum)
{
    void *tag;
    bool ok;
    while (queue->Next(&tag, &ok)) {
        auto *ring = static_cast<Ring *>(tag);
        *sum += ring->number;
        delete ring;
    }
}

int main(int argc, char **argv)
{
    int port = 0, served = 0;
    long sum = 0, rung = 0;
    unsetenv("http_proxy");
    planted_start(argc, argv, use);
    grpc::AsyncGenericService service;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterAsyncGenericService(&service);
    auto server_queue = builder.AddCompletionQueue();
    auto server = builder.BuildAndStart();
    std::thread server_thread(serve, &service, server_queue.get(), &served);

    grpc::CompletionQueue queue, alarms;
    grpc::GenericStub stub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
    std::thread finisher(finish, &queue, &sum), alarm_taker(take_alarms, &alarms, &rung);
    for (int i = 0; i < CALLS; i++) {
        auto *call = new Call;
        call->text = std::string(100 + i, 'x');
        grpc::Slice slice(call->text);
        call->request = grpc::ByteBuffer(&slice, 1);
        call->reader = stub.PrepareUnaryCall(&call->context, "/field.Test/Echo", call->request, &queue);
        call->reader->StartCall();
        call->reader->Finish(&call->response, &call->status, call);
    }
    for (int i = 0; i < ALARMS; i++) {
        auto *ring = new Ring;
        ring->number = i;
        ring->alarm.Set(&alarms, std::chrono::system_clock::now(), ring);
    }
    usleep(100000);
    alarms.Shutdown();
    alarm_taker.join();
    queue.Shutdown(); // Next returns what was started, then false
    finisher.join();
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_queue->Shutdown();
    server_thread.join();
    planted_end();
    printf("%ld %d %ld\n", sum, served, rung);
    return 0;
}
