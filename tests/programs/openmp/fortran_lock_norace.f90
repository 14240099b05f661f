! OpenMP's locks in Fortran: one lock for both threads.
! compilers: gcc
! build: openmp/fortran_order.c
program lock_order
    use omp_lib
    implicit none
    integer, volatile :: simple(1), nested(1)
    integer(omp_lock_kind) :: locks(2)
    integer(omp_nest_lock_kind) :: nests(2)

    call omp_init_lock(locks(1))
    call omp_init_lock(locks(2))
    call omp_init_nest_lock(nests(1))
    call omp_init_nest_lock(nests(2))
!$omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) then
        call omp_set_lock(locks(1))
        simple(1) = 1
        call omp_unset_lock(locks(1))
        call omp_set_nest_lock(nests(1))
        nested(1) = 1
        call omp_unset_nest_lock(nests(1))
        call reach(1)
    else
        call await(1)
        call omp_set_lock(locks(1))
        simple(1) = 2
        call omp_unset_lock(locks(1))
        if (omp_test_nest_lock(nests(1)) /= 1) call abort()
        nested(1) = 2
        call omp_unset_nest_lock(nests(1))
    end if
!$omp end parallel
    print '(a)', 'done'
end program
