import { openLibc } from './libc.ts';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0x80000;
const CLOCK_MONOTONIC = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** Size of the path in sockaddr_un, with its closing zero. */
const PATH_ROOM = 108;

/** Notifies the service manager of the state of the service (sd_notify). Every call does nothing without a manager. */
export interface ServiceNotifier {
  /** Interval within which the manager expects `watchdog()`, milliseconds; null if it does not watch. */
  readonly watchdogIntervalMs: number | null;
  ready(): void;
  /** Reports that a reload begins; `ready()` reports its end. */
  reloading(): void;
  /** Sets the line that `systemctl status` shows. */
  status(text: string): void;
  watchdog(): void;
  /** Requests more time to start or stop, counted from now. */
  extendTimeout(ms: number): void;
  stopping(): void;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Creates a notifier for the manager at `NOTIFY_SOCKET`, if it is set. */
export function serviceNotifier(env: Env = process.env): ServiceNotifier {
  const send = env.NOTIFY_SOCKET ? datagramSender(env.NOTIFY_SOCKET) : null;
  const notify = (message: string) => send?.(message);
  return {
    watchdogIntervalMs: send ? watchdogIntervalMs(env) : null,
    ready: () => notify('READY=1'),
    reloading: () => notify(`RELOADING=1\nMONOTONIC_USEC=${monotonicUsec()}`),
    status: (text) => notify(`STATUS=${text.replaceAll('\n', ' ')}`),
    watchdog: () => notify('WATCHDOG=1'),
    extendTimeout: (ms) => notify(`EXTEND_TIMEOUT_USEC=${Math.round(ms * 1000)}`),
    stopping: () => notify('STOPPING=1'),
  };
}

function watchdogIntervalMs(env: Env): number | null {
  const usec = Number(env.WATCHDOG_USEC);
  if (!(usec > 0)) return null;
  if (env.WATCHDOG_PID !== undefined && Number(env.WATCHDOG_PID) !== process.pid) return null;
  return usec / 1000;
}

/** Returns the system's monotonic time in microseconds; that of the runtime begins with the process. 0 without a C library. */
function monotonicUsec(): bigint {
  const libc = openLibc({ clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
  const time = new BigInt64Array(2);
  if (libc?.clock_gettime(CLOCK_MONOTONIC, time) !== 0) return 0n;
  return time[0]! * 1_000_000n + time[1]! / 1000n;
}

/** Uses the C library, since Bun has no unix datagram sockets. Null if the address or the library cannot be used. */
function datagramSender(path: string): ((message: string) => void) | null {
  const address = unixAddress(path);
  if (!address) return null;
  const libc = openLibc({
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
  });
  if (!libc) return null;
  const fd = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return null;
  return (message) => {
    const bytes = Buffer.from(message);
    libc.sendto(fd, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL, address, address.length);
  };
}

/** Returns the sockaddr_un of a path, or of an abstract name with a leading @. */
function unixAddress(path: string): Buffer | null {
  if (!/^[/@]./.test(path)) return null;
  const name = Buffer.from(path);
  const abstract = path.startsWith('@');
  if (name.length >= PATH_ROOM) return null;
  if (abstract) name[0] = 0;
  const address = Buffer.alloc(2 + name.length + (abstract ? 0 : 1));
  // All platforms of Bun are little-endian.
  address.writeUInt16LE(AF_UNIX, 0);
  name.copy(address, 2);
  return address;
}
