! A Fortran program with CSR arrays of base 1: y = A*x by libspmvx, through the C interface as it is.
!
!     gfortran fortran.f90 -o fortran $(pkg-config --libs spmvx)
!
! The type below has the fields of the C struct of that name, in their order. X and Y lie column by column in
! Fortran: spmvx_mul_multi takes them as they are.
module spmvx
    use, intrinsic :: iso_c_binding
    implicit none

    integer(c_int), parameter :: SPMVX_OK = 0, SPMVX_N = 0, SPMVX_I32 = 1, SPMVX_F64 = 4, SPMVX_CSR = 2

    type, bind(c) :: spmvx_arrays
        integer(c_size_t) :: size = 0
        integer(c_int) :: format = SPMVX_CSR, ptr_type = SPMVX_I32, idx_type = SPMVX_I32, val_type = SPMVX_F64
        integer(c_int) :: place = 0
        integer(c_int32_t) :: device = 0
        integer(c_int) :: block_order = 0
        integer(c_int32_t) :: reserved = 0
        integer(c_int64_t) :: nrows = 0, ncols = 0, nnz = 0, block_rows = 0, block_cols = 0, slice = 0, width = 0
        type(c_ptr) :: ptr = c_null_ptr, row = c_null_ptr, col = c_null_ptr, val = c_null_ptr
    end type

    interface
        integer(c_int) function spmvx_context_create(options, ctx) bind(c)
            import
            type(c_ptr), value :: options
            type(c_ptr) :: ctx
        end function
        integer(c_int) function spmvx_matrix_create(ctx, arrays, flags, a) bind(c)
            import
            type(c_ptr), value :: ctx
            type(spmvx_arrays) :: arrays
            integer(c_int32_t), value :: flags
            type(c_ptr) :: a
        end function
        integer(c_int) function spmvx_matrix_convert(ctx, a, options, b) bind(c)
            import
            type(c_ptr), value :: ctx, a, options
            type(c_ptr) :: b
        end function
        integer(c_int) function spmvx_mul_multi(ctx, op, alpha, a, nvec, x, ldx, beta, y, ldy) bind(c)
            import
            type(c_ptr), value :: ctx, a
            integer(c_int), value :: op
            real(c_double), value :: alpha, beta
            integer(c_int64_t), value :: nvec, ldx, ldy
            real(c_double) :: x(*), y(*)
        end function
        subroutine spmvx_matrix_destroy(a) bind(c)
            import
            type(c_ptr), value :: a
        end subroutine
        subroutine spmvx_context_destroy(ctx) bind(c)
            import
            type(c_ptr), value :: ctx
        end subroutine
        type(c_ptr) function spmvx_last_error(ctx) bind(c)
            import
            type(c_ptr), value :: ctx
        end function
    end interface
contains
    ! Ends the program with the library's message where a call failed.
    subroutine check(status)
        integer(c_int), intent(in) :: status
        character(kind=c_char), pointer :: text(:)
        integer :: i
        if (status == SPMVX_OK) return
        call c_f_pointer(spmvx_last_error(c_null_ptr), text, [512])
        do i = 1, 512
            if (text(i) == c_null_char) exit
            write (*, '(a)', advance='no') text(i)
        end do
        write (*, *)
        error stop 1
    end subroutine

    ! The library copies the arrays, so that those of base 0 are gone when this returns.
    subroutine from_base_1(ctx, n, ptr, col, val, csr)
        type(c_ptr), intent(in) :: ctx
        integer, intent(in) :: n
        integer(c_int32_t), intent(in) :: ptr(n + 1), col(:)
        real(c_double), intent(in), target :: val(:)
        type(c_ptr), intent(out) :: csr
        integer(c_int32_t), allocatable, target :: ptr_0(:), col_0(:)
        type(spmvx_arrays) :: a
        allocate (ptr_0(n + 1), col_0(size(col)))
        ptr_0(:) = ptr - 1
        col_0(:) = col - 1
        a%size = c_sizeof(a)
        a%nrows = n
        a%ncols = n
        a%nnz = ptr_0(n + 1)
        a%ptr = c_loc(ptr_0)
        a%col = c_loc(col_0)
        a%val = c_loc(val)
        call check(spmvx_matrix_create(ctx, a, 0_c_int32_t, csr))
    end subroutine
end module

program fortran
    use spmvx
    implicit none
    integer, parameter :: n = 1000, nvec = 2
    integer(c_int32_t) :: ptr(n + 1), col(3 * n)
    real(c_double), target :: val(3 * n)
    real(c_double) :: x(n, nvec), y(n, nvec), expected(n, nvec)
    type(c_ptr) :: ctx, csr, A
    integer :: i, k, r

    ! The second difference, with a 5 on the diagonal's first and last row.
    k = 1
    do r = 1, n
        ptr(r) = k
        do i = max(r - 1, 1), min(r + 1, n)
            col(k) = i
            val(k) = merge(2.0d0, -1.0d0, i == r)
            if (i == r .and. (r == 1 .or. r == n)) val(k) = 5
            k = k + 1
        end do
    end do
    ptr(n + 1) = k
    do i = 1, n
        x(i, :) = [sin(real(i, c_double)), cos(real(i, c_double))]
    end do
    expected = 0
    do r = 1, n
        do k = ptr(r), ptr(r + 1) - 1
            expected(r, :) = expected(r, :) + val(k) * x(col(k), :)
        end do
    end do

    call check(spmvx_context_create(c_null_ptr, ctx))
    call from_base_1(ctx, n, ptr, col(:ptr(n + 1) - 1), val, csr)
    call check(spmvx_matrix_convert(ctx, csr, c_null_ptr, A))
    call check(spmvx_mul_multi(ctx, SPMVX_N, 1d0, A, int(nvec, c_int64_t), x, int(n, c_int64_t), 0d0, y, int(n, c_int64_t)))
    print '(a, es8.1)', 'largest difference from the plain loop ', maxval(abs(y - expected))
    if (maxval(abs(y - expected)) > 1d-12) error stop 1
    call spmvx_matrix_destroy(A)
    call spmvx_matrix_destroy(csr)
    call spmvx_context_destroy(ctx)
end program
