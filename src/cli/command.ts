/** The surroundings of a command: its streams and its abort signal. */
export interface CommandContext {
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** One command of the command line. Its module loads fast: heavy modules are imported by `run`. */
export interface Command {
  /** The text behind `obverse ` in the usage line: `import FILE… [options]`. */
  readonly usage: string;
  /** The paragraphs of `obverse help COMMAND`, in short lines. */
  readonly description: string;
  readonly options?: readonly (readonly [flag: string, help: string])[];
  readonly examples?: readonly string[];
  /** Returns the exit status: 0 done, 1 failed. Throws UsageError, ConfigError or OperatorError, which main prints. */
  run(args: readonly string[], context: CommandContext): Promise<number>;
}

/** A fault in the command line itself. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Commands by their names, each with the line that the overview shows. */
export type CommandTable = Readonly<Record<string, CommandRow>>;

interface CommandRow {
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}
