import { readFileSync } from 'node:fs';
import { availableParallelism, homedir, totalmem } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { NetworkName } from '../params/network-params.ts';
import { usesDnsSeeds } from './p2p-settings.ts';
import { type Address, hostPortText, type ReadContext, type Setting, type Surroundings } from './setting.ts';
import { type Config, KEYS, type Key, SETTINGS } from './settings.ts';
import { type Env, type Given, readEnvironment, readFlags, readToml } from './sources.ts';

/** The configuration cannot be used. The message has one line per reason, and no line holds the value of a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.lines = lines;
  }
}

/** The properties of the host that a configuration depends on. */
export interface Host {
  readonly env: Env;
  readonly cwd: string;
  readonly home: string;
  readonly cores: number;
  /** Memory of the machine or of the control group, bytes. */
  readonly memory: number;
  /** Throws the errors of node:fs. */
  readText(path: string): string;
}

export function thisHost(): Host {
  return {
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    cores: availableParallelism(),
    memory: process.constrainedMemory() || totalmem(),
    readText: (path) => readFileSync(path, 'utf8'),
  };
}

/** The result of `loadConfig`. */
export interface Loaded {
  readonly config: Config;
  /** The values that apply and are not defaults, as they were written. */
  readonly given: ReadonlyMap<Key, Given>;
  /** Arguments that are not flags, in order. */
  readonly positionals: readonly string[];
}

/**
 * Reads the configuration: flags override the environment, which overrides the file, which overrides the defaults.
 * Throws ConfigError with every problem found.
 */
export function loadConfig(args: readonly string[], host: Host = thisHost()): Loaded {
  const flags = readFlags(args);
  const environment = readEnvironment(host.env);
  const problems = [...flags.problems, ...environment.problems];
  const reader = new Reader(host, problems);

  const file = reader.read('config', flags.given.get('config') ?? environment.given.get('config'));
  const fromFile = file === null ? null : readFile(file, host, problems);
  const givenFor = (key: Key): Given | undefined =>
    flags.given.get(key) ?? environment.given.get(key) ?? fromFile?.get(key);

  reader.baseDir = file === null ? host.cwd : dirname(file);
  reader.network = reader.read('network', givenFor('network'));
  reader.dev = reader.read('dev.enabled', givenFor('dev.enabled'));

  const values = new Map<Key, unknown>();
  const given = new Map<Key, Given>();
  for (const key of KEYS) {
    const written = givenFor(key);
    if (written) given.set(key, written);
    const known =
      key === 'config' ? file : key === 'network' ? reader.network : key === 'dev.enabled' ? reader.dev : undefined;
    values.set(key, known === undefined ? reader.read(key, written) : known);
  }
  const config = nest(values);
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: deepFreeze(config), given, positionals: flags.positionals };
}

function readFile(path: string, host: Host, problems: string[]): ReadonlyMap<Key, Given> | null {
  let text: string;
  try {
    text = host.readText(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    problems.push(`config: cannot read ${path}: ${code === 'ENOENT' ? 'no such file' : (code ?? 'unreadable')}`);
    return null;
  }
  const read = readToml(text, path);
  problems.push(...read.problems);
  return read.given;
}

class Reader {
  network: NetworkName = 'main';
  dev = false;
  /** Relative paths in the file are resolved against its folder. */
  baseDir: string;
  readonly #host: Host;
  readonly #problems: string[];

  constructor(host: Host, problems: string[]) {
    this.#host = host;
    this.#problems = problems;
    this.baseDir = host.cwd;
  }

  /** Returns the given value, or the default where none is given or it is not allowed. */
  read<K extends Key>(key: K, given: Given | undefined): (typeof SETTINGS)[K] extends Setting<infer T> ? T : never;
  read(key: Key, given: Given | undefined): unknown {
    const setting: Setting<unknown> = SETTINGS[key];
    if (!given) return setting.fallback(this.#surroundings());
    const baseDir = given.source === 'file' ? this.baseDir : this.#host.cwd;
    const context: ReadContext = {
      fromText: given.source !== 'file',
      network: this.network,
      resolvePath: (path) => resolve(baseDir, path.replace(/^~(?=\/|$)/, this.#host.home)),
    };
    const read = setting.read(given.value, context);
    if (read) return read.value;
    const value = setting.secret ? 'the value' : shown(given.value);
    this.#problems.push(`${key}: ${value} from ${given.origin} is not allowed: must be ${setting.allowed}`);
    return setting.fallback(this.#surroundings());
  }

  #surroundings(): Surroundings {
    const { env, home, cores, memory } = this.#host;
    const xdg = env.XDG_DATA_HOME;
    // The XDG specification requires that relative paths are ignored.
    const base = xdg && isAbsolute(xdg) ? xdg : join(home, '.local/share');
    return { network: this.network, dev: this.dev, dataHome: join(base, 'obverse'), cores, memory };
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function nest(values: ReadonlyMap<Key, unknown>): Config {
  const root: Record<string, unknown> = {};
  for (const [key, value] of values) {
    const names = key.split('.');
    let table = root;
    for (const name of names.slice(0, -1)) table = (table[name] ??= {}) as Record<string, unknown>;
    table[names.at(-1)!] = value;
  }
  const config = root as unknown as Config;
  const networkDir = join(config.datadir, config.network);
  return { ...config, networkDir, chainDir: join(networkDir, 'chain') };
}

/** Returns one line for each combination of settings that contradict each other. */
function contradictions(config: Config): string[] {
  const lines: string[] = [];
  const { http, network, ready } = config;
  if ((http.tls.cert === null) !== (http.tls.key === null))
    lines.push('http.tls.cert and http.tls.key: both or neither must be given');
  if (config.dev.enabled && network !== 'regtest')
    lines.push(`dev.enabled: only allowed with network regtest, not ${network}`);
  if (config.chain.assumeUtxo !== '' && network !== 'regtest')
    lines.push(`chain.assumeUtxo: only allowed with network regtest, not ${network}`);
  if (config.consensus.testActivationHeight.length > 0 && network !== 'regtest')
    lines.push(`consensus.testActivationHeight: only allowed with network regtest, not ${network}`);
  if (config.consensus.signetChallenge !== '' && network !== 'signet')
    lines.push(`consensus.signetChallenge: only allowed with network signet, not ${network}`);
  if (config.consensus.blockVersion !== null && network !== 'regtest')
    lines.push(`consensus.blockVersion: only allowed with network regtest, not ${network}`);
  if (config.consensus.enforceBip94 && network !== 'regtest')
    lines.push(`consensus.enforceBip94: only allowed with network regtest, not ${network}`);
  const { maxWeight, reservedWeight } = config.mining;
  if (reservedWeight > maxWeight)
    lines.push(`mining.reservedWeight: ${reservedWeight} must not exceed mining.maxWeight, ${maxWeight}`);
  if (config.storage.fastPrune && network !== 'regtest')
    lines.push(`storage.fastPrune: only allowed with network regtest, not ${network}`);
  for (const [name, page] of Object.entries(http.pages)) {
    if (page.default > page.max)
      lines.push(`http.pages.${name}.default: ${page.default} must not exceed http.pages.${name}.max, ${page.max}`);
  }
  if (ready.disk.fail > ready.disk.degraded)
    lines.push(`ready.disk.fail: ${ready.disk.fail} must not exceed ready.disk.degraded, ${ready.disk.degraded}`);
  lines.push(...unreachableNetworks(config));
  if (config.dev.enabled && !config.index.address) lines.push('index.address: must be on with dev.enabled');
  const twice = listedTwice([...config.p2p.listen, ...config.p2p.listenOnion]);
  if (twice !== null) lines.push(`p2p.listen and p2p.listenOnion: ${twice} is listed twice`);
  const servedTwice = listedTwice(http.listen);
  if (servedTwice !== null) lines.push(`http.listen: ${servedTwice} is listed twice`);
  if (config.p2p.forceDnsSeeds && !usesDnsSeeds(config.p2p))
    lines.push('p2p.forceDnsSeeds: needs p2p.dnsSeeds, which is false with p2p.connect and without p2p.autoConnect');
  lines.push(...privateBroadcastProblems(config));
  if (config.p2p.filters && !config.index.filter) lines.push('p2p.filters: needs index.filter');
  return lines;
}

/** Returns the first address that occurs a second time; null if none does. Port 0 is another port each time. */
function listedTwice(addresses: readonly Address[]): string | null {
  const bound = addresses.filter(({ port }) => port !== 0).map(hostPortText);
  return bound.find((text, at) => bound.indexOf(text) !== at) ?? null;
}

/** Returns one line for each network of `p2p.onlyNetworks` that no setting makes reachable. */
function unreachableNetworks({ p2p }: Config): string[] {
  const wants = (network: (typeof p2p.onlyNetworks)[number]) => p2p.onlyNetworks.includes(network);
  const lines: string[] = [];
  if (wants('onion') && p2p.onionProxy === 'none')
    lines.push('p2p.onlyNetworks: onion cannot be reached with p2p.onionProxy none');
  else if (wants('onion') && !hasOnionRoute(p2p))
    lines.push('p2p.onlyNetworks: onion can only be reached through p2p.onionProxy, p2p.proxy or p2p.torControl');
  if (wants('i2p') && p2p.i2pSam === null) lines.push('p2p.onlyNetworks: i2p can only be reached through p2p.i2pSam');
  if (wants('cjdns') && !p2p.cjdns) lines.push('p2p.onlyNetworks: cjdns can only be reached with p2p.cjdns');
  if (p2p.torPasswordFile !== null && p2p.torControl === null) lines.push('p2p.torPasswordFile: needs p2p.torControl');
  return lines;
}

/** Returns whether onion services can be reached. Tor's control port names a proxy only where no setting does. */
function hasOnionRoute({ proxy, onionProxy, torControl }: Config['p2p']): boolean {
  if (onionProxy !== null) return onionProxy !== 'none';
  const rule = proxy.findLast(({ network }) => network === 'onion' || network === null);
  return rule === undefined ? torControl !== null : rule.address !== null;
}

function privateBroadcastProblems({ p2p }: Config): string[] {
  if (!p2p.privateBroadcast) return [];
  const { onlyNetworks, connect, autoConnect } = p2p;
  if (!hasOnionRoute(p2p) || (onlyNetworks.length > 0 && !onlyNetworks.includes('onion')))
    return ['p2p.privateBroadcast: needs onion services, which p2p.onionProxy, p2p.proxy or p2p.torControl reaches'];
  if (connect.length > 0 || !autoConnect)
    return [
      'p2p.privateBroadcast: not with p2p.connect or without p2p.autoConnect, since it connects to peers of its own choice',
    ];
  return [];
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
