/*
 * A clock that can be moved, for programs that read it through libc: preload it, and name in AISLE_CLOCK_FILE a file
 * of eight bytes, by how many nanoseconds the wall clock is ahead (a signed number in the machine's order). Whoever
 * writes to the file moves the clock at once, forward and back. Clocks that are not the wall's stay true.
 *
 * The true time is asked of the kernel by its number, because libc's own functions are the ones that are replaced.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t *ahead;

__attribute__((constructor)) static void open_file(void)
{
	const char *path = getenv("AISLE_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		_exit(97); /* a clock that can't be moved would prove nothing */
	void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		_exit(97);
	ahead = page;
}

static int64_t shift(void)
{
	return ahead ? __atomic_load_n(ahead, __ATOMIC_RELAXED) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	long failed = syscall(SYS_clock_gettime, id, ts);

	if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return failed;
	int64_t by = shift();
	ts->tv_sec += by / 1000000000;
	ts->tv_nsec += by % 1000000000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_nsec -= 1000000000;
		ts->tv_sec++;
	} else if (ts->tv_nsec < 0) {
		ts->tv_nsec += 1000000000;
		ts->tv_sec--;
	}
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts))
		return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *into)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_REALTIME, &ts))
		return -1;
	if (into)
		*into = ts.tv_sec;
	return ts.tv_sec;
}
