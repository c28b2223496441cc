/* MPI-IO: how many bytes, and of which communicator. */
#include "recorder.h"

uint64_t file_id(MPI_File file) {
  struct request* r = request_find(HANDLE(file) | KEY_FILE);
  return r && r->comm ? r->comm->id : 0;
}

void file_opened(const struct call* call, MPI_Comm comm, MPI_File file) {
  struct request* r = request_add(HANDLE(file) | KEY_FILE, REQUEST_OTHER);
  r->comm = communicator_of(comm);
  if (r->comm) communicator_keep(r->comm);
  record_io(call, 2, true, 0, MPI_BYTE, file);
}

uint64_t file_close(MPI_File file) {
  struct request* r = request_take(HANDLE(file) | KEY_FILE);
  if (!r) return 0;
  uint64_t id = r->comm ? r->comm->id : 0;
  communicator_drop(r->comm);
  request_drop(r);
  return id;
}

static void write_io(const struct call* call, int64_t bytes, int64_t what, uint64_t comm) {
  int64_t* record = record_call(call, FORM_IO, 1, 3 * sizeof *record);
  if (!record) return;
  record[0] = bytes;
  record[1] = what;
  record[2] = (int64_t)comm;
  record_commit(call->end);
}

void record_file_closed(const struct call* call, uint64_t id) { write_io(call, 0, 2, id); }

void record_io(const struct call* call, int write, bool collective, int64_t count, MPI_Datatype type, MPI_File file) {
  write_io(call, (int64_t)type_bytes(count, type), write, collective ? file_id(file) : 0);
}
