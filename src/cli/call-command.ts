import { loadConfig } from '../config/load.ts';
import { parseWithNumbers, rawJson } from '../http/raw-json.ts';
import { RPC_METHODS } from '../rpc/methods/methods.ts';
import { didYouMean } from '../util/suggest.ts';
import { namedParams, positionalParams } from './call-arguments.ts';
import { readCallFlags } from './call-flags.ts';
import { type Command, type CommandContext, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { requestNode } from './node-access.ts';
import { readSecretLine, readStdinLines } from './stdin-lines.ts';

const DEFAULT_TIMEOUT_SECONDS = 900;
const MAX_TIMEOUT_SECONDS = 86_400;
/** Core's code for a call that must name its wallet. */
const WALLET_NOT_SPECIFIED = -19;

export const command: Command = {
  usage: 'call [options] METHOD [ARGUMENT…]',
  description: `Calls a JSON-RPC method of the node that runs with the same settings on this host, and prints its result, as
bitcoin-cli does: a text as it is, everything else as JSON. Which arguments are texts and which are JSON follows from the
method. obverse call help lists the methods, obverse call help METHOD describes one.

The key is OBVERSE_API_KEY or the file that OBVERSE_API_KEY_FILE names, else the cookie file of the data directory.
Arguments can be seen by other users of this machine; pass secrets by -stdin or -stdinwalletpassphrase.

Exit status: 0 done; where the call fails the absolute value of its code, such as 8 for -8, of which the system keeps eight
bits; 1 where no node answers, 2 for a mistake in the command line.`,
  options: [
    ['--wallet NAME', 'wallet of the call; also -rpcwallet=NAME'],
    ['--named', 'arguments have the form name=value; also -named'],
    ['--stdin', 'read more arguments from standard input, one a line; also -stdin'],
    ['--stdinwalletpassphrase', 'read a passphrase from standard input as the first argument'],
    ['--json', 'print the result, or the error, as one line of JSON'],
    ['--timeout SECONDS', `wait that long for the reply (default ${DEFAULT_TIMEOUT_SECONDS}); also -rpcclienttimeout`],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse call getblockcount',
    'obverse call --named getblock blockhash=HASH verbosity=1',
    'obverse call --wallet hot -stdinwalletpassphrase walletpassphrase 60 < passphrase.txt',
  ],
  async run(args, context) {
    const { switches, texts, settings, words } = readCallFlags(args);
    const { config } = loadConfig(settings);
    const [method, ...given] = words;
    if (method === undefined) throw new UsageError('call needs a method; obverse call help lists them');
    const timeoutMs = readTimeout(texts.get('rpcclienttimeout')) * 1000;
    const isPassphrase = switches.has('stdinwalletpassphrase');
    if (isPassphrase && !method.startsWith('walletpassphrase'))
      throw new UsageError('--stdinwalletpassphrase goes with walletpassphrase and walletpassphrasechange');
    const passphrase = isPassphrase ? [await readSecretLine('Wallet passphrase> ')] : [];
    const read = switches.has('stdin') ? await readStdinLines() : [];
    const all = [...passphrase, ...given, ...read];
    const params = switches.has('named') ? namedParams(method, all) : positionalParams(method, all);
    const wallet = texts.get('rpcwallet');
    const { status, text } = await requestNode(config, {
      path: wallet === undefined ? '/' : `/wallet/${encodeURIComponent(wallet)}`,
      body: `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`,
      signal: context.signal,
      timeoutMs,
    });
    return printReply(method, { status, text, json: switches.has('json') }, context);
  },
};

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

function printReply(
  method: string,
  { status, text, json }: { readonly status: number; readonly text: string; readonly json: boolean },
  { out, err }: CommandContext,
): number {
  const { result, error } = parseReply(text);
  if (error) {
    const code = Number(error.code);
    if (json) err(`${JSON.stringify({ error })}\n`);
    else err(`error code: ${code}\nerror message:\n${error.message}\n${hint(method, code)}`);
    // The system keeps the last eight bits, as of the status of bitcoin-cli.
    return Math.abs(code) & 0xff || 1;
  }
  if (result === undefined) {
    err(`obverse: the node answers with HTTP ${status}${status === 401 ? ': the key or cookie is not valid' : ''}\n`);
    return 1;
  }
  if (json) out(`${JSON.stringify(result)}\n`);
  else if (typeof result === 'string') out(result === '' ? '' : `${result}\n`);
  else if (result !== null) out(`${JSON.stringify(result, null, 2)}\n`);
  return 0;
}

function hint(method: string, code: number): string {
  if (code === WALLET_NOT_SPECIFIED) return 'Name the wallet with --wallet NAME.\n';
  if (RPC_METHODS.has(method)) return '';
  const similar = didYouMean(method, [...RPC_METHODS.keys()]).trim();
  return similar === '' ? '' : `${similar}\n`;
}

/** Numbers keep their text: an amount is printed with the digits that the node wrote. */
function parseReply(text: string): Reply {
  try {
    const { result, error } = (parseWithNumbers(text, rawJson) ?? {}) as { result?: unknown; error?: Reply['error'] };
    if (typeof error !== 'object' || error === null) return result === undefined ? {} : { result };
    return { error: { ...error, code: Number(JSON.stringify(error.code)) } };
  } catch {
    return {};
  }
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return DEFAULT_TIMEOUT_SECONDS;
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > MAX_TIMEOUT_SECONDS)
    throw new UsageError(`--timeout is a number of seconds from 1 to ${MAX_TIMEOUT_SECONDS}, not ${text}`);
  return seconds;
}
