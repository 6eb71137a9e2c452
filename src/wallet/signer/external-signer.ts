import { type AsciiText, asciiBytes } from '../../util/ascii-text.ts';
import { concatBytes } from '../../util/bytes.ts';
import { Exclusive } from '../../util/exclusive.ts';
import { ProgramFailure, type ProgramResult, runProgram } from '../../util/run-program.ts';
import { hideSecrets } from '../keys/hide-secrets.ts';
import { WalletError, walletFail } from '../wallet-error.ts';

/** A device or service that signs, as its program lists it. */
export interface ListedSigner {
  /** Fingerprint of its master key (BIP-32), 8 hexadecimal digits. */
  readonly fingerprint: string;
  /** Its model; may be empty. */
  readonly name: string;
}

/** Result of the signature of a transaction. */
export type SignerAnswer = { readonly psbt: string } | { readonly error: string };

/** Descriptors of the addresses of an account and of its change. */
export interface SignerDescriptors {
  readonly receive: readonly string[];
  readonly internal: readonly string[];
}

export interface ExternalSignerOptions {
  /** The program and its first arguments, separated by blanks; null without one. */
  readonly command: string | null;
  /** Core's name of the network. */
  readonly chain: string;
  readonly signal: AbortSignal;
  /** Time limits, milliseconds: of an answer, and of one for which a person presses buttons of a device. */
  readonly limits?: { readonly answerMs: number; readonly personMs: number };
}

const LIMITS = { answerMs: 60_000, personMs: 600_000 };
/** A PSBT contains the whole transactions that it spends. */
const MAX_OUTPUT = 16 * 1024 * 1024;
const MAX_SIGNERS = 100;
const MAX_DESCRIPTORS = 20;
const MAX_SHOWN = 1000;
const NO_INPUT = new Uint8Array(0);
/** Calls that may wait for those before them: a device serves one program at a time. */
const MAX_WAITING = 20;
const NO_COMMAND = 'restart bitcoind with -signer=<cmd>';

/**
 * A program that talks to devices with keys, such as HWI. Speaks the protocol of Core's `doc/external-signer.md`: arguments
 * and one line of JSON. No shell reads the arguments, and none of them is secret. Throws WalletError.
 */
export class ExternalSigner {
  readonly #options: ExternalSignerOptions;
  readonly #command: readonly string[];
  readonly #exclusive = new Exclusive(MAX_WAITING);

  constructor(options: ExternalSignerOptions) {
    this.#options = options;
    this.#command = options.command?.split(/[ \t]+/).filter((word) => word !== '') ?? [];
  }

  /** Lists the connected signers, each fingerprint once. */
  async list(): Promise<ListedSigner[]> {
    if (this.#command.length === 0) walletFail('misc', `Error: ${NO_COMMAND} (setting wallet.signer)`);
    const { command } = this.#options;
    const listed = await this.#runCommand(['enumerate']);
    if (!Array.isArray(listed))
      return walletFail('misc', `'${command}' received invalid response, expected array of signers`);
    const found = new Map<string, ListedSigner>();
    for (const entry of listed.slice(0, MAX_SIGNERS)) {
      const { error = null, fingerprint, model } = membersOf(entry);
      if (error !== null)
        walletFail('misc', typeof error === 'string' ? `'${command}' error: ${shown(error)}` : `'${command}' error`);
      if (fingerprint === undefined)
        walletFail('misc', `'${command}' received invalid response, missing signer fingerprint`);
      if (typeof fingerprint !== 'string' || !/^[0-9a-fA-F]{8}$/.test(fingerprint))
        return walletFail('misc', `'${command}' received invalid fingerprint, must be 8 hex characters`);
      if (!found.has(fingerprint))
        found.set(fingerprint, { fingerprint, name: typeof model === 'string' ? shown(model) : '' });
    }
    return [...found.values()];
  }

  /** Returns the only connected signer, or Core's reason why there is none. */
  async find(): Promise<ListedSigner | { readonly missing: string }> {
    if (this.#command.length === 0) return { missing: NO_COMMAND };
    const [first, second] = await this.list();
    if (first === undefined) return { missing: 'No external signers found' };
    if (second !== undefined)
      return { missing: 'More than one external signer found. Please connect only one at a time.' };
    return first;
  }

  /** Returns the only connected signer. */
  async only(): Promise<ListedSigner> {
    const found = await this.find();
    return 'missing' in found ? walletFail('misc', found.missing) : found;
  }

  /** Requests the descriptors of an account (BIP-44). */
  async descriptors(signer: ListedSigner, account: number): Promise<SignerDescriptors> {
    const answer = membersOf(
      await this.#runCommand([...this.#of(signer), 'getdescriptors', '--account', String(account)]),
    );
    const [receive, internal] = [answer.receive, answer.internal].map((list) => {
      const isList = Array.isArray(list) && list.length <= MAX_DESCRIPTORS && list.every((d) => typeof d === 'string');
      return isList ? (list as string[]) : walletFail('misc', 'SetupDescriptorScriptPubKeyMans: Unexpected result');
    });
    return { receive: receive!, internal: internal! };
  }

  /** Displays the address of a descriptor on a signer; resolves when it has confirmed that it is `address`. */
  async displayAddress(signer: ListedSigner, descriptor: string, address: string): Promise<void> {
    const args = [...this.#of(signer), 'displayaddress', '--desc', descriptor];
    const answer = membersOf(await this.#runCommand(args, NO_INPUT, { byPerson: true }));
    if (typeof answer.error === 'string') walletFail('misc', `Signer returned error: ${shown(answer.error)}`);
    if (typeof answer.address !== 'string') return walletFail('misc', 'Signer did not echo address');
    if (answer.address !== address) walletFail('misc', `Signer echoed unexpected address ${shown(answer.address)}`);
  }

  /** Has a signer sign a PSBT, which its program reads from its standard input. */
  async sign(signer: ListedSigner, psbt: AsciiText): Promise<SignerAnswer> {
    const input = concatBytes(asciiBytes('signtx '), ...psbt.pieces);
    const answer = membersOf(await this.#runCommand(['--stdin', ...this.#of(signer)], input, { byPerson: true }));
    if (typeof answer.error === 'string') return { error: shown(answer.error) };
    return typeof answer.psbt === 'string' ? { psbt: answer.psbt } : { error: 'Unexpected result from signer' };
  }

  #of({ fingerprint }: ListedSigner): string[] {
    return ['--fingerprint', fingerprint, '--chain', this.#options.chain];
  }

  /** Runs the program and returns the JSON that it has written in its first line. */
  async #runCommand(
    args: readonly string[],
    input: Uint8Array = NO_INPUT,
    { byPerson = false } = {},
  ): Promise<unknown> {
    const { signal, limits = LIMITS } = this.#options;
    if (this.#exclusive.full) walletFail('misc', 'Error: too many calls are waiting for the external signer');
    const command = [...this.#command, ...args];
    const limitMs = byPerson ? limits.personMs : limits.answerMs;
    const run = { command, input, limitMs, maxBytes: MAX_OUTPUT, signal };
    const { code, output, errors } = await this.#exclusive.run(() => attempt(() => runProgram(run)), signal);
    if (code !== 0)
      walletFail(
        'misc',
        `RunCommandParseJSON error: process(${command.join(' ')}) returned ${code}: ${shown(firstLine(errors))}\n`,
      );
    const line = firstLine(output);
    try {
      return JSON.parse(line) as unknown;
    } catch {
      return walletFail('misc', `Unable to parse JSON: ${shown(line)}`);
    }
  }
}

async function attempt(run: () => Promise<ProgramResult>): Promise<ProgramResult> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ProgramFailure)) throw error;
    throw new WalletError('misc', error.message);
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function firstLine(text: string): string {
  const end = text.indexOf('\n');
  return end < 0 ? text : text.slice(0, end);
}

/** A text of the program as an error shows it: without control characters and private keys, and not too long. */
function shown(text: string): string {
  return hideSecrets(text.slice(0, MAX_SHOWN).replace(/\p{Cc}/gu, ' '));
}
