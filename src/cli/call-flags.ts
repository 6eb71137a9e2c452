import { isKey, SETTINGS } from '../config/settings.ts';
import { UsageError } from './command.ts';

/** The flags of `obverse call`, with the names of bitcoin-cli. */
const SWITCHES = ['named', 'stdin', 'stdinwalletpassphrase', 'json'] as const;
const TEXTS = ['rpcwallet', 'rpcclienttimeout'] as const;
/** Flags of bitcoin-cli that choose a network. */
const NETWORKS: Readonly<Record<string, string>> = {
  regtest: 'regtest',
  signet: 'signet',
  testnet4: 'testnet4',
};

type Switch = (typeof SWITCHES)[number];
type Text = (typeof TEXTS)[number];

export interface CallFlags {
  readonly switches: ReadonlySet<Switch>;
  readonly texts: ReadonlyMap<Text, string>;
  /** Flags of settings, for loadConfig. */
  readonly settings: readonly string[];
  /** The method and its arguments. */
  readonly words: readonly string[];
}

/**
 * Separates flags from the method and its arguments. Before the method, flags begin with one or two dashes, as in
 * bitcoin-cli. Behind it, only known flags with two dashes are flags, so that -1 is an argument, and `--` ends them.
 * Throws UsageError.
 */
export function readCallFlags(args: readonly string[]): CallFlags {
  const switches = new Set<Switch>();
  const texts = new Map<Text, string>();
  const settings: string[] = [];
  const words: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === '--') {
      words.push(...args.slice(i + 1));
      break;
    }
    const [, dashes = '', name = '', value] = /^(--?)([A-Za-z][\w.]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (dashes === '' || (dashes === '-' && words.length > 0)) {
      words.push(arg);
      continue;
    }
    const valueAfter = (what: string) => {
      const text = value ?? args[++i];
      if (text === undefined || text === '') throw new UsageError(`${what} needs a value`);
      return text;
    };
    const known = flagOf(name);
    if (known?.kind === 'switch') {
      if (value !== undefined) throw new UsageError(`${dashes}${name} takes no value`);
      switches.add(known.name);
    } else if (known?.kind === 'text') texts.set(known.name, valueAfter(arg));
    else if (Object.hasOwn(NETWORKS, name)) settings.push('--network', NETWORKS[name]!);
    else if (name === 'dev') settings.push('--dev.enabled=true');
    else if (isKey(name))
      settings.push(
        `--${name}=${SETTINGS[name].kind === 'boolean' && value === undefined ? 'true' : valueAfter(`--${name}`)}`,
      );
    else throw new UsageError(`unknown flag ${arg}; arguments that begin with dashes follow --`);
  }
  return { switches, texts, settings, words };
}

function flagOf(name: string) {
  const own = name === 'wallet' ? 'rpcwallet' : name === 'timeout' ? 'rpcclienttimeout' : name;
  const word = SWITCHES.find((each) => each === own);
  if (word) return { kind: 'switch', name: word } as const;
  const text = TEXTS.find((each) => each === own);
  return text ? ({ kind: 'text', name: text } as const) : null;
}
