import { hostClock } from './clock.ts';
import type { Log } from './log.ts';

/** Values of a command: those in its text are safe in every context of a shell, and all others are variables. */
export interface CommandValues {
  /** By placeholder without the percent sign; letters, digits and dashes only. */
  readonly inText: Readonly<Record<string, string>>;
  /** By placeholder: the variable and its value, which the shell expands once and never executes. */
  readonly asVariables?: Readonly<Record<string, readonly [variable: string, value: string]>>;
}

export interface ShellCommandOptions {
  readonly log: Log;
  /** Number of commands that run at a time. */
  readonly maxRunning: number;
  /** Time after which a command is ended, milliseconds. */
  readonly limitMs: number;
}

interface Running {
  readonly pid: number;
  readonly exited: Promise<number>;
}

/** Text that cannot end a word or begin an expansion in a shell. */
const PLAIN = /^[A-Za-z0-9-]*$/;
/** Variables of the node: its settings, its credentials, and its connection to the service manager. */
const OWN_VARIABLES = /^(?:OBVERSE_|CREDENTIALS_DIRECTORY$|NOTIFY_SOCKET$|WATCHDOG_|LISTEN_|BUN_)/;

/** Runs commands of the operator in a shell, a bounded number at a time, each in a process group of its own. */
export class ShellCommands {
  readonly #options: ShellCommandOptions;
  readonly #running = new Map<number, Running>();
  readonly #ended = new AbortController();
  #slotFreed = Promise.withResolvers<void>();

  constructor(options: ShellCommandOptions) {
    this.#options = options;
  }

  /** Waits for a free slot and starts a command; resolves when it runs, or at once after the end. Never rejects. */
  async startCommand(name: string, command: string, values?: CommandValues): Promise<void> {
    while (this.#running.size >= this.#options.maxRunning && !this.#ended.signal.aborted) await this.#slotFreed.promise;
    if (!this.#ended.signal.aborted) this.#spawn(name, command, values, this.#options.limitMs);
  }

  /** Runs a command without waiting for a slot; resolves when it has exited, or was ended at its time limit. */
  async runLastCommand(name: string, command: string, limitMs: number): Promise<void> {
    await this.#spawn(name, command, undefined, limitMs)?.exited;
  }

  /** Ends the running commands, and starts no others. */
  end(): void {
    this.#ended.abort();
    this.#slotFreed.resolve();
    for (const { pid } of this.#running.values()) endGroup(pid, 'SIGTERM');
  }

  #spawn(name: string, command: string, values: CommandValues | undefined, limitMs: number): Running | null {
    const { log } = this.#options;
    const startedMs = hostClock.monotonicMs();
    try {
      const { text, variables } = fillCommand(command, values);
      const child = Bun.spawn(['/bin/sh', '-c', text], {
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
        detached: true,
        env: { ...inheritedVariables(process.env), ...variables },
      });
      const { pid } = child;
      const timer = setTimeout(() => {
        log.warn('command ended at its time limit', { setting: name, pid, seconds: limitMs / 1000 });
        endGroup(pid, 'SIGKILL');
      }, limitMs);
      const exited = child.exited.then((code) => {
        clearTimeout(timer);
        this.#running.delete(pid);
        this.#slotFreed.resolve();
        this.#slotFreed = Promise.withResolvers();
        const seconds = (hostClock.monotonicMs() - startedMs) / 1000;
        if (code !== 0 && !this.#ended.signal.aborted) log.warn('command failed', { setting: name, code, seconds });
        return code;
      });
      const running = { pid, exited };
      this.#running.set(pid, running);
      return running;
    } catch (error) {
      log.warn('command could not be started', { setting: name, error });
      return null;
    }
  }
}

/**
 * Puts values in place of `%x` in one pass, so that a value is never searched for placeholders. A value that may contain any
 * character becomes a variable in double quotes: wherever the operator puts it, a shell does not execute it.
 */
export function fillCommand(
  command: string,
  { inText, asVariables = {} }: CommandValues = { inText: {} },
): { readonly text: string; readonly variables: Readonly<Record<string, string>> } {
  const variables: Record<string, string> = {};
  const text = command.replace(/%([a-z])/g, (placeholder, letter: string) => {
    const value = inText[letter];
    if (value !== undefined) {
      if (!PLAIN.test(value)) throw new Error(`the value of ${placeholder} is not plain text`);
      return value;
    }
    const named = asVariables[letter];
    if (named === undefined) return placeholder;
    variables[named[0]] = named[1];
    return `"$${named[0]}"`;
  });
  return { text, variables };
}

/** Returns the variables that a command inherits. */
export function inheritedVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => {
      const [name, value] = entry;
      return value !== undefined && !OWN_VARIABLES.test(name);
    }),
  );
}

function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All processes of the group have exited.
  }
}
