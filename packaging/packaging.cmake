# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What stands beside the tool and the runtime: the shims, the programs of the self-test, and everything that is
# installed. Included at the end of the main file, when all targets are known.
include(CMakePackageConfigHelpers)

target_compile_definitions(railbird PRIVATE RB_LIBDIR="${CMAKE_INSTALL_LIBDIR}"
  RB_LIBEXECDIR="${CMAKE_INSTALL_LIBEXECDIR}")
target_link_libraries(railbird PRIVATE ${CMAKE_DL_LIBS})
add_custom_command(TARGET railbird POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E create_symlink railbird ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/railbird-cc
  COMMAND ${CMAKE_COMMAND} -E create_symlink railbird ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/railbird-c++)

# Objects without content under the names of TSan's runtimes (src/run/shims/empty.c says why). Nothing of the
# options of the other targets is for them. TSan's bring libm along, so programs linked with them may not ask for it.
configure_file(src/run/shims/gcc.specs ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/railbird/gcc.specs COPYONLY)
set(RB_SHIM_NAMES libtsan.so.0 libtsan.so.2 libclang_rt.tsan-x86_64.so libclang_rt.tsan.so)
foreach(name ${RB_SHIM_NAMES})
  string(MAKE_C_IDENTIFIER shim_${name} shim)
  add_library(${shim} SHARED src/run/shims/empty.c)
  set_target_properties(${shim} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/railbird/shims
    COMPILE_OPTIONS "" LINK_OPTIONS "-nostdlib;-Wl,--no-as-needed;-lm")
  install(TARGETS ${shim} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/railbird/shims)
endforeach()

# The plugin for gcc (src/plugin), for the gcc that is there; without its headers (gcc-N-plugin-dev) `railbird cc` does without.
# It is named by the release, so that others can be put beside it: RB_PLUGIN_GCC names the compiler it is for.
set(RB_PLUGIN_GCC gcc CACHE STRING "the gcc that the plugin is for")
execute_process(COMMAND ${RB_PLUGIN_GCC} -dumpfullversion OUTPUT_VARIABLE RB_GCC_RELEASE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND ${RB_PLUGIN_GCC} -print-file-name=plugin OUTPUT_VARIABLE RB_GCC_PLUGIN OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(EXISTS ${RB_GCC_PLUGIN}/include/gcc-plugin.h AND TARGET rb_rt_static)
  set(RB_BODIES railbird/gcc-${RB_GCC_RELEASE}/bodies.so)
  file(GLOB RB_PLUGIN_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugin/*.cc)
  file(GLOB RB_PLUGIN_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugin/*.h)
  add_custom_command(OUTPUT ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${RB_BODIES}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/railbird/gcc-${RB_GCC_RELEASE}
    COMMAND ${RB_PLUGIN_GCC} -x c++ -std=gnu++14 -O2 -g -Wall -Wextra -Werror -fPIC -shared -fno-rtti -fno-exceptions
      -isystem ${RB_GCC_PLUGIN}/include ${RB_PLUGIN_SOURCES} -o ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${RB_BODIES}
    DEPENDS ${RB_PLUGIN_SOURCES} ${RB_PLUGIN_HEADERS} VERBATIM)
  add_custom_target(rb_bodies ALL DEPENDS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${RB_BODIES})
  install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${RB_BODIES} DESTINATION ${CMAKE_INSTALL_LIBDIR}/railbird/gcc-${RB_GCC_RELEASE})
elseif(TARGET rb_rt_static)
  message(STATUS "no headers for plugins of ${RB_PLUGIN_GCC} (gcc-N-plugin-dev): functions get one body")
endif()

# Built as a user would build them, so the build is a first test of `railbird cc`.
if(TARGET rb_rt_static AND NOT RB_FUZZ)
  set(RB_SELFTEST_DIR ${CMAKE_BINARY_DIR}/libexec/railbird)
  file(MAKE_DIRECTORY ${RB_SELFTEST_DIR})
  foreach(name unlocked locked)
    add_custom_command(OUTPUT ${RB_SELFTEST_DIR}/${name}
      COMMAND ${CMAKE_COMMAND} -E env RAILBIRD_CC=${CMAKE_C_COMPILER}
        $<TARGET_FILE:railbird> cc -std=gnu17 -O1 -g -DLOCKED=$<STREQUAL:${name},locked>
        ${CMAKE_SOURCE_DIR}/src/cmd/doctor/selftest/planted.c
        -o ${RB_SELFTEST_DIR}/${name}
      DEPENDS railbird src/cmd/doctor/selftest/planted.c
        ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/librailbird_rt.a ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/railbird_rt.syms
        ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/railbird/gcc.specs
      VERBATIM)
    list(APPEND RB_SELFTESTS ${RB_SELFTEST_DIR}/${name})
  endforeach()
  add_custom_target(rb_selftest ALL DEPENDS ${RB_SELFTESTS})
  add_dependencies(rb_selftest rb_rt_static railbird_rt.syms)
  if(TARGET rb_bodies)
    add_dependencies(rb_selftest rb_bodies)
  endif()
  install(PROGRAMS ${RB_SELFTESTS} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/railbird)
endif()

install(TARGETS railbird RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(link railbird-cc railbird-c++)
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${link} DESTINATION ${CMAKE_INSTALL_BINDIR})
endforeach()
foreach(file librailbird_rt.a librailbird_rt_static.a librailbird_rt.so librailbird_watch.so railbird_rt.syms railbird_rt.wrap railbird_rt.cxx)
  install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endforeach()
install(FILES src/run/shims/gcc.specs DESTINATION ${CMAKE_INSTALL_LIBDIR}/railbird)
install(DIRECTORY include/railbird DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
file(GLOB RB_MANUAL CONFIGURE_DEPENDS man/*.1)
install(FILES ${RB_MANUAL} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completion/railbird.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME railbird)

file(RELATIVE_PATH RB_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(packaging/railbird.pc.in ${CMAKE_BINARY_DIR}/railbird.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/railbird.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(packaging/RailbirdConfig.cmake.in ${CMAKE_BINARY_DIR}/RailbirdConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Railbird
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/RailbirdConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/RailbirdConfig.cmake ${CMAKE_BINARY_DIR}/RailbirdConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Railbird)
