/* One-sided communication: puts count as sent to their target, gets as received from it. */
#include "known.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  begin_known();
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  double *base, value[16] = {0}, result[16];
  MPI_Win win, dynamic, shared;
  MPI_Request request[2];
  MPI_Win_allocate(1024, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_fence(0, win);
  MPI_Put(value, 4, MPI_DOUBLE, right, 0, 4, MPI_DOUBLE, win);
  sent(right, 32);
  MPI_Get(result, 3, MPI_DOUBLE, left, 0, 3, MPI_DOUBLE, win);
  received(left, 24);
  MPI_Accumulate(value, 2, MPI_DOUBLE, right, 8, 2, MPI_DOUBLE, MPI_SUM, win);
  sent(right, 16);
  MPI_Win_fence(0, win);
  /* Post, start, complete, wait. */
  MPI_Group world, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &right, &to);
  MPI_Group_incl(world, 1, &left, &from);
  MPI_Win_post(from, 0, win);
  MPI_Win_start(to, 0, win);
  MPI_Put(value, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, win);
  sent(right, 8);
  MPI_Win_complete(win);
  int flag = 0;
  while (!flag) MPI_Win_test(win, &flag);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Group_free(&world);
  /* Locks. */
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
  MPI_Rput(value, 5, MPI_DOUBLE, right, 16, 5, MPI_DOUBLE, win, &request[0]);
  MPI_Rget(result, 6, MPI_DOUBLE, right, 32, 6, MPI_DOUBLE, win, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  sent(right, 40), received(right, 48);
  MPI_Win_flush(right, win);
  MPI_Win_unlock(right, win);
  MPI_Win_lock_all(0, win);
  MPI_Fetch_and_op(value, result, MPI_DOUBLE, left, 0, MPI_SUM, win);
  sent(left, 8), received(left, 8);
  MPI_Get_accumulate(value, 2, MPI_DOUBLE, result, 2, MPI_DOUBLE, left, 0, 2, MPI_DOUBLE, MPI_SUM, win);
  sent(left, 16), received(left, 16);
  MPI_Win_flush_local_all(win);
  MPI_Win_flush_all(win);
  MPI_Put(value, 9, MPI_DOUBLE, MPI_PROC_NULL, 0, 9, MPI_DOUBLE, win);
  MPI_Win_sync(win);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  /* Windows of other kinds. */
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_attach(dynamic, value, sizeof value);
  MPI_Win_detach(dynamic, value);
  MPI_Win_free(&dynamic);
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared);
  MPI_Win_free(&shared);
  print_known();
  MPI_Finalize();
  return 0;
}
