import { closeSync, fstatSync, openSync } from 'node:fs';
import { slicePauses } from '../../http/slice-pauses.ts';
import { openLibc } from '../../util/libc.ts';

const AF_INET = 2;
const AF_INET6 = 10;
const SHUT_RDWR = 2;
const SEEK_SET = 0;
/** Offsets in a linux_dirent64: its length, and the beginning of its name. */
const ENTRY_LENGTH = 16;
const ENTRY_NAME = 19;
const LISTING_BYTES = 64 * 1024;
const ADDRESS_BYTES = 128;
/** Time limit of one slice, milliseconds; requests are served between two slices. */
const SLICE_MS = 1;

/** A connection that was accepted on one of our ports. */
export interface CountedSocket {
  readonly fd: number;
  /** Identifies the client's end in the form of `peerName`. */
  readonly peer: string;
  readonly address: string;
}

export interface Census {
  /** Number of open descriptors of the process, of every kind. */
  readonly descriptors: number;
  readonly sockets: readonly CountedSocket[];
}

/**
 * Counts the connections of listeners by inspecting the descriptors of this process, since the runtime reports nothing
 * about a connection before its first request.
 */
export class SocketCensus {
  readonly #libc: Libc;
  readonly #listing: number;
  readonly #ports: ReadonlySet<number>;
  readonly #entries = new Uint8Array(LISTING_BYTES);
  readonly #view = new DataView(this.#entries.buffer);
  readonly #address = new Uint8Array(ADDRESS_BYTES);
  readonly #length = new Uint32Array(1);

  private constructor(libc: Libc, listing: number, ports: ReadonlySet<number>) {
    this.#libc = libc;
    this.#listing = listing;
    this.#ports = ports;
  }

  /** Returns null on a system where descriptors cannot be listed. Ports that are added to the set later count as well. */
  static open(ports: ReadonlySet<number>): SocketCensus | null {
    const libc = openSockets();
    if (libc === null) return null;
    try {
      // The directory stays open, because a census is needed most when no descriptors are left.
      return new SocketCensus(libc, openSync('/proc/self/fd', 'r'), ports);
    } catch {
      return null;
    }
  }

  /** Returns the number of open descriptors of the process. */
  descriptors(): number {
    // Linux reports the number since 6.2, and 0 before that.
    return fstatSync(this.#listing).size || this.#list().length;
  }

  /** Inspects all descriptors in slices. */
  async count(): Promise<Census> {
    const pause = slicePauses(SLICE_MS);
    const descriptors = this.#list();
    const sockets: CountedSocket[] = [];
    for (const fd of descriptors) {
      const socket = this.#socketOf(fd);
      if (socket) sockets.push(socket);
      await pause();
    }
    return { descriptors: descriptors.length, sockets };
  }

  /** Closes a connection if it is still the counted one. The runtime handles it as if the client had disconnected. */
  end({ fd, peer }: CountedSocket): boolean {
    // Closing a copy of a database's descriptor would release the locks that SQLite holds on the file.
    if (this.#socketOf(fd)?.peer !== peer) return false;
    // Another thread may reuse the descriptor at any time, so the check and the end concern a copy. Without a free
    // descriptor for it, they concern the original.
    const copy = this.#libc.dup(fd);
    const held = copy < 0 ? fd : copy;
    const isEnded = this.#socketOf(held)?.peer === peer && this.#libc.shutdown(held, SHUT_RDWR) === 0;
    if (copy >= 0) closeSync(copy);
    return isEnded;
  }

  close(): void {
    closeSync(this.#listing);
  }

  #list(): number[] {
    const descriptors: number[] = [];
    this.#libc.lseek(this.#listing, 0, SEEK_SET);
    for (;;) {
      const length = Number(this.#libc.getdents64(this.#listing, this.#entries, LISTING_BYTES));
      if (length <= 0) return descriptors;
      for (let at = 0; at < length; at += this.#view.getUint16(at + ENTRY_LENGTH, true)) {
        const fd = this.#numberAt(at + ENTRY_NAME);
        if (fd !== null) descriptors.push(fd);
      }
    }
  }

  /** Returns null if the name is `.` or `..`. */
  #numberAt(at: number): number | null {
    let number = 0;
    for (let i = at; this.#entries[i] !== 0; i++) {
      const digit = this.#entries[i]! - 48;
      if (digit < 0) return null;
      number = number * 10 + digit;
    }
    return number;
  }

  #socketOf(fd: number): CountedSocket | null {
    const { getsockname, getpeername } = this.#libc;
    this.#length[0] = ADDRESS_BYTES;
    if (getsockname(fd, this.#address, this.#length) !== 0 || !this.#ports.has(this.#port())) return null;
    this.#length[0] = ADDRESS_BYTES;
    // A listening socket has no peer.
    if (getpeername(fd, this.#address, this.#length) !== 0) return null;
    const address = this.#host();
    return address === null ? null : { fd, address, peer: peerName(address, this.#port()) };
  }

  /** Returns null if the socket is not an IP socket. */
  #family(): number | null {
    const family = this.#address[0]! | (this.#address[1]! << 8);
    return family === AF_INET || family === AF_INET6 ? family : null;
  }

  #port(): number {
    return this.#family() === null ? -1 : (this.#address[2]! << 8) | this.#address[3]!;
  }

  #host(): string | null {
    const family = this.#family();
    if (family === null) return null;
    if (family === AF_INET) return this.#address.subarray(4, 8).join('.');
    return hostOf(this.#address.subarray(8, 24));
  }
}

/** Returns the name of one end of a connection, with the address in the form of `hostOf`. */
export function peerName(address: string, port: number): string {
  return `${address} ${port}`;
}

/** Returns the one spelling of an address: IPv4 with dots, IPv6 as eight groups of four digits. */
export function hostOf(bytes: Uint8Array): string {
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return isMapped ? bytes.subarray(12).join('.') : bytes.toHex().replace(/.{4}(?=.)/g, '$&:');
}

type Libc = NonNullable<ReturnType<typeof openSockets>>;

function openSockets() {
  return openLibc({
    getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
    getpeername: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
    dup: { args: ['i32'], returns: 'i32' },
    shutdown: { args: ['i32', 'i32'], returns: 'i32' },
    lseek: { args: ['i32', 'i64', 'i32'], returns: 'i64' },
    getdents64: { args: ['i32', 'ptr', 'u64'], returns: 'i64' },
  });
}
