/*
 * A library for LD_PRELOAD that lets writes and syncs of one directory fail, and shifts the clock of the host.
 *
 * SQLite and the synchronisation of files go through libc, but Bun writes files with system calls of its own, which no
 * function of a library can replace. A seccomp filter therefore turns the system calls into a signal (SECCOMP_RET_TRAP),
 * whose handler lets them fail or repeats them with a mark in an argument that none of them has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "system calls are repeated with the registers of x86-64"
#endif

enum fault { NONE, WRITE_EIO, WRITE_ENOSPC, WRITE_SHORT, SYNC_EIO };

/* The first bytes of the file that FAULT_CONTROL names; faults/shim.ts writes them. */
struct control {
  volatile int32_t fault;
  /* System calls that succeed before the first one that fails. */
  volatile int32_t skip;
  /* System calls that still fail. */
  volatile int32_t left;
  /* System calls that have failed. */
  volatile int32_t hits;
  volatile int64_t clock_ms;
};

static const long MARK = 0x6f627672;
static struct control *control;
static const char *directory;
static size_t directory_length;

static long repeat(long number, const greg_t *registers, long length) {
  register long r10 asm("r10") = registers[REG_R10];
  register long r8 asm("r8") = registers[REG_R8];
  register long r9 asm("r9") = MARK;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(registers[REG_RDI]), "S"(registers[REG_RSI]), "d"(length), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

static int in_directory(int descriptor) {
  char link[32] = "/proc/self/fd/", digits[12], path[4096];
  int length = 14, count = 0;
  do digits[count++] = '0' + descriptor % 10; while ((descriptor /= 10) > 0);
  while (count > 0) link[length++] = digits[--count];
  link[length] = 0;
  int saved = errno;
  ssize_t size = readlink(link, path, sizeof path);
  errno = saved;
  return size > (ssize_t)directory_length && memcmp(path, directory, directory_length) == 0;
}

static int is_sync(long number) { return number == SYS_fsync || number == SYS_fdatasync; }

static int fails(long number, int descriptor) {
  if (control->fault == NONE || (control->fault == SYNC_EIO) != is_sync(number)) return 0;
  if (control->fault == WRITE_SHORT && number != SYS_write && number != SYS_pwrite64) return 0;
  if (descriptor < 0 || !in_directory(descriptor)) return 0;
  if (__sync_fetch_and_sub(&control->skip, 1) > 0) return 0;
  if (__sync_fetch_and_sub(&control->left, 1) <= 0) return 0;
  __sync_fetch_and_add(&control->hits, 1);
  return 1;
}

static void on_system_call(int signal, siginfo_t *info, void *context) {
  (void)signal;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  long number = info->si_syscall, length = registers[REG_RDX];
  if (!fails(number, (int)registers[REG_RDI])) registers[REG_RAX] = repeat(number, registers, length);
  else if (control->fault == WRITE_SHORT) registers[REG_RAX] = repeat(number, registers, length > 1 ? length / 2 : length);
  else registers[REG_RAX] = control->fault == WRITE_ENOSPC ? -ENOSPC : -EIO;
}

typedef int action_function(int, const struct sigaction *, struct sigaction *);

static int set_action(int signal, const struct sigaction *action, struct sigaction *old) {
  static action_function *real;
  if (real == NULL) real = (action_function *)dlsym(RTLD_NEXT, "sigaction");
  return real(signal, action, old);
}

/* Bun handles SIGSYS as well, after this library. */
int sigaction(int signal, const struct sigaction *restrict action, struct sigaction *restrict old) {
  return set_action(signal, signal == SIGSYS && control != NULL ? NULL : action, old);
}

#define TRAPPED(number, calls_after) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, calls_after, 0)

static void trap_system_calls(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      TRAPPED(SYS_write, 6),
      TRAPPED(SYS_pwrite64, 5),
      TRAPPED(SYS_writev, 4),
      TRAPPED(SYS_ftruncate, 3),
      TRAPPED(SYS_fsync, 2),
      TRAPPED(SYS_fdatasync, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
  set_action(SIGSYS, &action, NULL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULT_CONTROL");
  char self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  self[size > 0 ? size : 0] = 0;
  directory = getenv("FAULT_DIRECTORY");
  /* setpriv starts the node, and its filter would outlive its handler. */
  if (path == NULL || directory == NULL || strstr(self, "/setpriv") != NULL) return;
  directory_length = strlen(directory);
  int file = open(path, O_RDWR | O_CLOEXEC);
  void *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) abort();
  control = mapped;
  trap_system_calls();
}

typedef int clock_function(clockid_t, struct timespec *);

static int shifted(clockid_t clock, struct timespec *time) {
  static clock_function *real;
  if (real == NULL) real = (clock_function *)dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (result == 0 && control != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += control->clock_ms / 1000;
  return result;
}

int clock_gettime(clockid_t clock, struct timespec *time) { return shifted(clock, time); }

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = shifted(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t *at) {
  struct timespec now;
  shifted(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}
