#include "calls.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

static MPI_Comm comm = MPI_COMM_NULL;
static MPI_Request request = MPI_REQUEST_NULL;

int latent_begin(int *rank, int *size, int *funneled) {
	// MPI has handlers for faults that print a trace. Go turns some faults into panics, and needs its own.
	struct sigaction kept[65];
	int code, number, provided = 0, known[65];
	for (number = 1; number < 65; number++)
		known[number] = sigaction(number, NULL, &kept[number]) == 0;
	code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	*funneled = provided >= MPI_THREAD_FUNNELED;
	for (number = 1; number < 65; number++)
		if (known[number] && number != SIGKILL && number != SIGSTOP)
			sigaction(number, &kept[number], NULL);
	if (code != MPI_SUCCESS || (code = MPI_Comm_dup(MPI_COMM_WORLD, &comm)) != MPI_SUCCESS)
		return code;
	if ((code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)) != MPI_SUCCESS ||
	    (code = MPI_Comm_rank(comm, rank)) != MPI_SUCCESS)
		return code;
	return MPI_Comm_size(comm, size);
}

int latent_post(void *mine, void *all, int n) {
	return MPI_Iallgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, comm, &request);
}

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

int latent_wait(double spin, int *done) {
	const double most = 1e-2;
	const struct timespec nap = {0, 50000};
	const double began = seconds();
	for (;;) {
		int code = MPI_Test(&request, done, MPI_STATUS_IGNORE);
		double waited = seconds() - began;
		if (code != MPI_SUCCESS || *done || waited > most)
			return code;
		if (waited < spin)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

int latent_end(void) {
	int code = MPI_Comm_free(&comm);
	return code == MPI_SUCCESS ? MPI_Finalize() : code;
}

void latent_abort(int status) { MPI_Abort(comm, status); }

int latent_text(int code, char *text, int *length) { return MPI_Error_string(code, text, length); }

int latent_room(void) { return MPI_MAX_ERROR_STRING; }
