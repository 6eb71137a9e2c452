/** Signals of a fault of the runtime or of a native library. The run ends with the first process that receives one. */
const FAULT = /^worker crashed: SIG(ABRT|BUS|FPE|ILL|SEGV|SYS|TRAP)$/;

/** Failures that are kept for the end of the output, and the lines of each before its result. */
const MAX_FAILURES = 20;
const LINES_OF_FAILURE = 60;

interface FileResult {
  passed: number;
  failed: number;
}

/** Reads what `bun test --parallel` prints: the results of each file, and the files that were not run to their end. */
export class TestOutput {
  readonly #files = new Map<string, FileResult>();
  readonly #unfinished = new Set<string>();
  readonly #failures: string[] = [];
  /** Lines since the last result. */
  #recent: string[] = [];
  #file = '';
  #rest = '';
  #crashed = false;

  /** Reads the next part of the output. */
  addText(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) this.#addLine(Bun.stripANSI(line));
  }

  /** Whether a process was ended by a fault, which a test can hardly cause by itself. */
  get crashed(): boolean {
    return this.#crashed;
  }

  /** Files whose tests did not all run because a process crashed. */
  get unfinished(): readonly string[] {
    return [...this.#unfinished];
  }

  /** The first failed tests with what was printed before each of them. */
  get failures(): readonly string[] {
    return this.#failures;
  }

  /** Returns the sums over the files that were run to their end. */
  totals(): FileResult {
    const totals = { passed: 0, failed: 0 };
    for (const [file, { passed, failed }] of this.#files) {
      if (this.#unfinished.has(file)) continue;
      totals.passed += passed;
      totals.failed += failed;
    }
    return totals;
  }

  #addLine(line: string): void {
    const title = /^(\S+\.test\.ts):$/.exec(line);
    const isFailure = line.startsWith('(fail) ');
    if (title) this.#file = title[1]!;
    else if (line.startsWith('(pass) ')) this.#result().passed++;
    else if (isFailure) this.#result().failed++;
    else {
      if (this.#recent.length === LINES_OF_FAILURE) this.#recent.shift();
      this.#recent.push(line);
      this.#addCrash(line);
      return;
    }
    if (isFailure && this.#failures.length < MAX_FAILURES)
      this.#failures.push([`${this.#file}:`, ...this.#recent, line].join('\n'));
    this.#recent = [];
  }

  #addCrash(line: string): void {
    const crash = /^✗ (\S+) \((.*)\)$/.exec(line);
    if (!crash) return;
    const [, file, reason] = crash;
    const isFault = FAULT.test(reason!);
    if (isFault) this.#crashed = true;
    if (isFault || reason!.startsWith('aborted: ')) this.#unfinished.add(file!);
  }

  #result(): FileResult {
    let result = this.#files.get(this.#file);
    if (!result) this.#files.set(this.#file, (result = { passed: 0, failed: 0 }));
    return result;
  }
}
