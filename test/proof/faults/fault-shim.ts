import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { requireProgram } from '../../lib/programs.ts';

/** Faults of system calls that write or sync a file. */
export const CALL_FAULTS = ['write-eio', 'write-enospc', 'write-short', 'sync-eio'] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

const CONTROL_BYTES = 4096;
const FAULT_AT = 0;
const HITS_AT = 12;
const CLOCK_AT = 16;

/** A library that lets system calls of a process on files of one directory fail, and shifts its clock (`shim.c`). */
export class FaultShim {
  /** The environment of a process with the library. */
  readonly env: Readonly<Record<string, string>>;
  readonly #fd: number;

  private constructor(fd: number, env: Readonly<Record<string, string>>) {
    this.#fd = fd;
    this.env = env;
  }

  /** Compiles the library into `workDir`. Faults concern files of `directory` alone. */
  static compile(workDir: string, directory: string): FaultShim {
    const library = join(workDir, 'fault-shim.so');
    const control = join(workDir, 'control');
    const { exitCode, stderr } = Bun.spawnSync(
      [requireProgram('gcc'), '-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', library].concat(
        join(import.meta.dir, 'shim.c'),
        '-ldl',
      ),
      { stderr: 'pipe' },
    );
    if (exitCode !== 0) throw new Error(`gcc cannot compile the library: ${stderr.toString()}`);
    const fd = openSync(control, 'w+');
    writeSync(fd, Buffer.alloc(CONTROL_BYTES), 0, CONTROL_BYTES, 0);
    return new FaultShim(fd, { LD_PRELOAD: library, FAULT_CONTROL: control, FAULT_DIRECTORY: `${directory}/` });
  }

  /** From now on `skip` system calls succeed, then `left` fail. */
  begin(fault: CallFault, skip: number, left: number): void {
    const bytes = Buffer.alloc(HITS_AT + 4 - FAULT_AT);
    bytes.writeInt32LE(skip, 4);
    bytes.writeInt32LE(left, 8);
    // The numbers are in place before the kind, which switches the fault on.
    this.#write(bytes, FAULT_AT);
    bytes.writeInt32LE(1 + CALL_FAULTS.indexOf(fault), 0);
    this.#write(bytes.subarray(0, 4), FAULT_AT);
  }

  /** Ends the fault. Returns the number of system calls that have failed. */
  end(): number {
    this.#write(Buffer.alloc(4), FAULT_AT);
    return this.hits;
  }

  /** Number of system calls that have failed since `begin`. */
  get hits(): number {
    const bytes = Buffer.alloc(4);
    readSync(this.#fd, bytes, 0, 4, HITS_AT);
    return bytes.readInt32LE();
  }

  /** Sets how far the clock of the process is ahead of that of the host. */
  shiftClock(ms: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    this.#write(bytes, CLOCK_AT);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(bytes: Uint8Array, at: number): void {
    writeSync(this.#fd, bytes, 0, bytes.length, at);
  }
}
