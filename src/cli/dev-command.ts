import { loadConfig } from '../config/load.ts';
import { didYouMean } from '../util/suggest.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { type NodeReply, requestNode } from './node-access.ts';

interface Scenario {
  readonly method: string;
  /** The method's parameter for each positional word, in order. */
  readonly words: readonly string[];
  readonly required: number;
  /** The method's parameter for each flag, and whether a value follows the flag. */
  readonly flags: Readonly<Record<string, { readonly name: string; readonly kind: 'text' | 'number' | 'switch' }>>;
}

const TO = { name: 'address', kind: 'text' } as const;
const AMOUNT = { name: 'amount', kind: 'text' } as const;

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  pay: { method: 'devpay', words: ['address', 'amount'], required: 1, flags: {} },
  reorg: {
    method: 'devreorg',
    words: ['depth'],
    required: 0,
    flags: { '--reconfirm': { name: 'reconfirm', kind: 'switch' } },
  },
  doublespend: {
    method: 'devdoublespend',
    words: [],
    required: 0,
    flags: { '--to': TO, '--amount': AMOUNT, '--confirmations': { name: 'confirmations', kind: 'number' } },
  },
  flood: { method: 'devflood', words: ['count'], required: 0, flags: { '--to': TO } },
};
const OK = 200;
/** A flood of 5,000 transactions takes minutes. */
const TIMEOUT_MS = 600_000;
const NUMBERS = new Set(['depth', 'count']);

export const command: Command = {
  usage: 'dev pay|reorg|doublespend|flood [arguments] [options]',
  description: `Makes a node in developer mode produce payments, reorgs, double spends and floods, so that its clients can be tested.
Prints the result as JSON. The command calls the node that runs with the same settings on this host. Its key is
OBVERSE_API_KEY or the file that OBVERSE_API_KEY_FILE names, else the cookie file of the data directory.`,
  options: [
    ['pay ADDRESS [AMOUNT]', 'send coins of the sandbox (default 1)'],
    ['reorg [DEPTH]', 'replace the last blocks (default 1) by one more'],
    ['  --reconfirm', 'confirm the same transactions in the new blocks (default: return them to the mempool)'],
    ['doublespend', 'send a payment and replace it by a conflicting one'],
    ['  --to ADDRESS', 'recipient of the first payment, and of flood (default: the sandbox itself)'],
    ['  --amount AMOUNT', 'coins (default 1)'],
    ['  --confirmations N', 'replace it by a reorg once it has N confirmations'],
    ['flood [COUNT]', 'submit many transactions at once (default 100, at most 5000)'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse dev reorg 3',
    'obverse dev doublespend --to bcrt1qsm5vsmgvztj7vt69jxtzhwykg79w7hmttehwrv --confirmations 2',
    'obverse dev flood 500',
  ],
  async run(args, { signal, out, err }) {
    const [name = '', ...rest] = args;
    if (!Object.hasOwn(SCENARIOS, name)) {
      const names = Object.keys(SCENARIOS);
      throw new UsageError(`dev takes one of ${names.join(', ')}${didYouMean(name, names)}`);
    }
    const { method, params, settings } = readScenario(name, rest);
    const { config, positionals } = loadConfig(settings);
    fillWords(name, positionals, params);
    const reply = await requestNode(config, {
      path: '/',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal,
      timeoutMs: TIMEOUT_MS,
    });
    const { result, error } = replyOf(reply);
    if (error !== undefined) {
      err(`${error}\n`);
      return 1;
    }
    out(`${JSON.stringify(result, null, 2)}\n`);
    return 0;
  },
};

type Params = Record<string, string | number | boolean>;

/** Separates the scenario's own flags from the arguments; the remaining ones are settings. */
function readScenario(name: string, args: readonly string[]) {
  const { method, flags } = SCENARIOS[name]!;
  const params: Params = {};
  // A sandbox always runs on regtest.
  const settings: string[] = args.some((arg) => /^--network(=|$)/.test(arg)) ? [] : ['--network', 'regtest'];
  for (let i = 0; i < args.length; i++) {
    const [text, inline] = splitFlag(args[i]!);
    const flag = Object.hasOwn(flags, text) ? flags[text]! : null;
    if (flag === null) settings.push(args[i]!);
    else if (flag.kind === 'switch') params[flag.name] = true;
    else {
      const value = inline ?? args[++i];
      if (value === undefined || value.startsWith('--')) throw new UsageError(`${text} needs a value`);
      params[flag.name] = flag.kind === 'number' ? wholeNumber(text, value) : value;
    }
  }
  return { method, params, settings };
}

function splitFlag(arg: string): [string, string | undefined] {
  const at = arg.startsWith('--') ? arg.indexOf('=') : -1;
  return at < 0 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)];
}

function fillWords(name: string, given: readonly string[], params: Params): void {
  const { words, required } = SCENARIOS[name]!;
  if (given.length < required)
    throw new UsageError(`dev ${name} needs ${words.slice(given.length, required).join(', ')}`);
  if (given.length > words.length) throw new UsageError(`dev ${name} does not take ${given[words.length]}`);
  for (const [i, value] of given.entries())
    params[words[i]!] = NUMBERS.has(words[i]!) ? wholeNumber(words[i]!, value) : value;
}

function wholeNumber(what: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${what} is a whole number, not ${text}`);
  return Number(text);
}

function replyOf({ status, text }: NodeReply): { result?: unknown; error?: string } {
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // The status alone describes a body that is not JSON.
  }
  const { result, error } = (body ?? {}) as { result?: unknown; error?: { message?: unknown } | null };
  if (error) return { error: String(error.message) };
  return status === OK ? { result } : { error: `HTTP ${status}` };
}
