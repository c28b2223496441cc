/* Waiting and testing where some of the requests are ours, or ours are under way beside them: both sides go on. Those
 * of ours in an array are inactive persistent requests for the MPI library, which passes over them. */
#include <stdlib.h>

#include "interpose.h"

static void set_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
}

static MPI_Status* status_of(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* Ours that are under way, beside what the MPI library does. */
static void beside(unsigned looks) {
  if (requests_busy > 0 && !process.world.team) progress(false);
  go_on(looks);
}

int waits_test(MPI_Request* request, int* flag, MPI_Status* status) {
  struct request* r = request_find(*request);
  if (!r) {
    beside(0);
    return PMPI_Test(request, flag, status);
  }
  if (!(*flag = request_test(r))) {
    go_on(63);
    return MPI_SUCCESS;
  }
  set_empty(status);
  return request_end(r, request);
}

int waits_wait(MPI_Request* request, MPI_Status* status) {
  struct request* r = request_find(*request);
  int error = MPI_SUCCESS, flag = 0;
  const bool alone = requests_wait_alone();
  if (r) {
    if (alone) request_wait_alone(r);
    for (unsigned looks = 0; !request_test(r); ++looks) go_on(looks);
    set_empty(status);
    return request_end(r, request);
  }
  if (alone) return PMPI_Wait(request, status);
  for (unsigned looks = 0; !flag && error == MPI_SUCCESS; ++looks) {
    error = PMPI_Test(request, &flag, status);
    if (!flag) beside(looks);
  }
  return error;
}

/* Whether all of ours in an array are done; looks at one that is not, and so goes on with all of them. */
static bool ours_done(int n, const MPI_Request* requests, int* first) {
  for (; *first < n; ++*first) {
    struct request* r = request_find(requests[*first]);
    if (r && !request_test(r)) return false;
  }
  return true;
}

static int end_all(int n, MPI_Request* requests, MPI_Status* statuses, int error) {
  for (int i = 0; i < n; ++i) {
    struct request* r = request_find(requests[i]);
    if (!r) continue;
    set_empty(status_of(statuses, i));
    const int own = request_end(r, &requests[i]);
    if (error == MPI_SUCCESS) error = own;
  }
  return error;
}

int waits_waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
  int error = MPI_SUCCESS, theirs = 0, first = 0;
  if (requests_wait_alone()) {
    for (int i = 0; i < n; ++i) {
      struct request* r = request_find(requests[i]);
      if (r) request_wait_alone(r);
    }
    return end_all(n, requests, statuses, PMPI_Waitall(n, requests, statuses));
  }
  for (unsigned looks = 0;; ++looks) {
    if (!theirs) {
      error = PMPI_Testall(n, requests, &theirs, statuses);
      if (error != MPI_SUCCESS) theirs = 1;
    }
    const bool ours = ours_done(n, requests, &first);
    if (ours && theirs) return end_all(n, requests, statuses, error);
    beside(looks);
  }
}

int waits_testall(int n, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  int first = 0;
  *flag = 0;
  if (!ours_done(n, requests, &first)) {
    beside(63);
    return MPI_SUCCESS;
  }
  const int error = PMPI_Testall(n, requests, flag, statuses);
  return *flag ? end_all(n, requests, statuses, error) : error;
}

/* One of ours that is done, from `first` on; n: none is. *active: some are not. */
static int done_from(int first, int n, const MPI_Request* requests, bool* active) {
  for (int i = first; i < n; ++i) {
    struct request* r = request_find(requests[i]);
    if (!r || !r->active) continue;
    *active = true;
    if (request_test(r)) return i;
  }
  return n;
}

int waits_testany(int n, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  bool active = false;
  const int i = done_from(0, n, requests, &active);
  if (i < n) {
    *index = i;
    *flag = 1;
    set_empty(status);
    return request_end(request_find(requests[i]), &requests[i]);
  }
  const int error = PMPI_Testany(n, requests, index, flag, status);
  if (*flag && *index == MPI_UNDEFINED && active) *flag = 0;
  if (!*flag) beside(0);
  return error;
}

int waits_waitany(int n, MPI_Request* requests, int* index, MPI_Status* status) {
  for (unsigned looks = 0;; ++looks) {
    int flag = 0;
    const int error = waits_testany(n, requests, index, &flag, status);
    if (flag || error != MPI_SUCCESS) return error;
    go_on(looks);
  }
}

int waits_testsome(int n, MPI_Request* requests, int* count, int* indices, MPI_Status* statuses) {
  bool active = false;
  int error = PMPI_Testsome(n, requests, count, indices, statuses);
  int found = *count == MPI_UNDEFINED ? 0 : *count;
  for (int i = done_from(0, n, requests, &active); i < n; i = done_from(i + 1, n, requests, &active)) {
    indices[found] = i;
    set_empty(status_of(statuses, found++));
    const int own = request_end(request_find(requests[i]), &requests[i]);
    if (error == MPI_SUCCESS) error = own;
  }
  if (found > 0 || active) *count = found;
  if (found == 0) beside(0);
  return error;
}

int waits_waitsome(int n, MPI_Request* requests, int* count, int* indices, MPI_Status* statuses) {
  for (unsigned looks = 0;; ++looks) {
    const int error = waits_testsome(n, requests, count, indices, statuses);
    if (*count != 0 || error != MPI_SUCCESS) return error;
    go_on(looks);
  }
}

int waits_request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  struct request* r = request_find(request);
  if (!r) {
    beside(0);
    return PMPI_Request_get_status(request, flag, status);
  }
  *flag = request_test(r);
  if (*flag) set_empty(status);
  else go_on(63);
  return MPI_SUCCESS;
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
int waits_request_get_status_all(int n, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  int first = 0;
  *flag = 0;
  if (!ours_done(n, requests, &first)) {
    beside(63);
    return MPI_SUCCESS;
  }
  const int error = PMPI_Request_get_status_all(n, requests, flag, statuses);
  if (*flag) {
    for (int i = 0; i < n; ++i)
      if (request_find(requests[i])) set_empty(status_of(statuses, i));
  } else {
    beside(0);
  }
  return error;
}

int waits_request_get_status_any(int n, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  bool active = false;
  const int i = done_from(0, n, requests, &active);
  if (i < n) {
    *index = i;
    *flag = 1;
    set_empty(status);
    return MPI_SUCCESS;
  }
  const int error = PMPI_Request_get_status_any(n, requests, index, flag, status);
  if (*flag && *index == MPI_UNDEFINED && active) *flag = 0;
  if (!*flag) beside(0);
  return error;
}

int waits_request_get_status_some(int n, const MPI_Request* requests, int* count, int* indices, MPI_Status* statuses) {
  bool active = false;
  const int error = PMPI_Request_get_status_some(n, requests, count, indices, statuses);
  int found = *count == MPI_UNDEFINED ? 0 : *count;
  for (int i = done_from(0, n, requests, &active); i < n; i = done_from(i + 1, n, requests, &active)) {
    indices[found] = i;
    set_empty(status_of(statuses, found++));
  }
  if (found > 0 || active) *count = found;
  if (found == 0) beside(0);
  return error;
}
#endif

int waits_start(MPI_Request* request) {
  struct request* r = request_find(*request);
  return r ? request_start(r) : PMPI_Start(request);
}

int waits_startall(int n, MPI_Request* requests) {
  for (int i = 0; i < n; ++i) {
    const int error = waits_start(&requests[i]);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int waits_request_free(MPI_Request* request) {
  struct request* r = request_find(*request);
  if (!r) return PMPI_Request_free(request);
  request_free(r);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int waits_for_theirs(MPI_Request* request, MPI_Status* status) {
  enter();
  const int error = waits_wait(request, status);
  leave();
  return error;
}
