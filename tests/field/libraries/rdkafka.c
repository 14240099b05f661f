// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: librdkafka-dev
// Flags: -lrdkafka
// librdkafka against its own mock broker on the loopback interface: messages whose blocks the program gets back in delivery
// reports, queues between threads, and callbacks in the library's threads.
#include "planted.h"
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100 };
static rd_kafka_t *producer;
static long delivered, reports;

static void use(int thread)
{
    rd_kafka_conf_t *own = rd_kafka_conf_new();
    rd_kafka_conf_set_opaque(own, &thread);
    rd_kafka_conf_destroy(own);
}

static void on_delivery(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *opaque)
{
    long *block = message->_private;
    (void)kafka;
    (void)opaque;
    delivered += *block + message->err;
    reports++;
    free(block);
}

static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *text)
{
    (void)kafka;
    (void)level;
    (void)facility;
    (void)text;
}

static void *send_messages(void *topic)
{
    for (int i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, block, sizeof *block, NULL, 0,
                         block);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    char error[200];
    pthread_t sender;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", error, sizeof error);
    rd_kafka_conf_set(conf, "linger.ms", "1", error, sizeof error);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_log_cb(conf, on_log);
    producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    planted_start(argc, argv, use);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(producer, "field", NULL);
    pthread_create(&sender, NULL, send_messages, topic);
    for (int i = 0; i < 1000 && reports < COUNT; i++)
        rd_kafka_poll(producer, 10);
    pthread_join(sender, NULL);
    rd_kafka_topic_destroy(topic);
    rd_kafka_flush(producer, 5000);
    planted_end();
    rd_kafka_destroy(producer);
    printf("%ld\n", delivered);
    return 0;
}
