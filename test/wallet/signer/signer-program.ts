import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExternalSigner } from '../../../src/wallet/signer/external-signer.ts';

/** A signer of Core's protocol as a shell script, whose answers a test writes into files. */
export class SignerProgram implements Disposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'obverse-signer-'));
  readonly command = join(this.dir, 'signer');
  readonly #ending = new AbortController();

  constructor() {
    // $0 is the path of the program; the last command line and the last standard input are kept.
    writeFileSync(
      this.command,
      `#!/bin/sh
printf '%s\\n' "$@" > "$0.args"
cat > "$0.input"
name=sign
for word in "$@"; do
  case "$word" in enumerate|getdescriptors|displayaddress) name=$word ;; esac
done
. "$0.$name"
`,
    );
    chmodSync(this.command, 0o700);
    this.answer('enumerate', [{ fingerprint: '00000001', model: 'trezor_t' }]);
  }

  /** Sets the answer to a command. */
  answer(name: 'enumerate' | 'getdescriptors' | 'displayaddress' | 'sign', value: unknown): void {
    writeFileSync(`${this.command}.${name}.json`, `${JSON.stringify(value)}\n`);
    this.script(name, `cat "$0.${name}.json"`);
  }

  /** Sets the shell commands that answer a command. */
  script(name: string, text: string): void {
    writeFileSync(`${this.command}.${name}`, `${text}\n`);
  }

  get args(): string[] {
    return readFileSync(`${this.command}.args`, 'utf8').trimEnd().split('\n');
  }

  get input(): string {
    return readFileSync(`${this.command}.input`, 'utf8');
  }

  signer(limitMs = 60_000, suffix = ''): ExternalSigner {
    return new ExternalSigner({
      command: `${this.command}${suffix}`,
      chain: 'regtest',
      signal: this.#ending.signal,
      limits: { answerMs: limitMs, personMs: limitMs },
    });
  }

  [Symbol.dispose](): void {
    this.#ending.abort(new Error('the test has ended'));
    rmSync(this.dir, { recursive: true, force: true });
  }
}
