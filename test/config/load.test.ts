import { describe, expect, test } from 'bun:test';
import { ConfigError, type Host, loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/settings.ts';

interface Around {
  readonly env?: Record<string, string>;
  /** Text of /etc/obverse/obverse.toml. */
  readonly file?: string;
}

const FILE = '/etc/obverse/obverse.toml';

function host({ env = {}, file }: Around): Host {
  return {
    env,
    cwd: '/srv/run',
    home: '/home/op',
    cores: 6,
    memory: 4 * 1024 ** 3,
    readText(path) {
      if (path === FILE && file !== undefined) return file;
      throw Object.assign(new Error('no'), { code: 'ENOENT' });
    },
  };
}

function load(args: readonly string[], around: Around = {}): Config {
  return loadConfig(around.file === undefined ? args : [...args, '--config', FILE], host(around)).config;
}

function problems(args: readonly string[], around: Around = {}): readonly string[] {
  try {
    load(args, around);
  } catch (error) {
    if (error instanceof ConfigError) return error.lines;
    throw error;
  }
  return [];
}

describe('defaults', () => {
  test('main', () => {
    const config = load([]);
    expect(config.network).toBe('main');
    expect(config.datadir).toBe('/home/op/.local/share/obverse');
    expect(config.networkDir).toBe('/home/op/.local/share/obverse/main');
    expect(config.config).toBeNull();
    expect(config.service.name).toBe('obverse');
    expect(config.http.listen).toEqual([{ host: '127.0.0.1', port: 8332 }]);
    expect(config.p2p).toEqual({
      enabled: true,
      networkActive: true,
      listen: [{ host: '::', port: 8333 }],
      listenOnion: [],
      autoConnect: true,
      connect: [],
      maxConnections: 125,
      inboundRelayPercent: 50,
      peerTimeout: 60,
      v2: true,
      proxy: [],
      onionProxy: null,
      proxyRandomize: true,
      torControl: null,
      torPasswordFile: null,
      i2pSam: null,
      i2pAcceptIncoming: true,
      cjdns: false,
      onlyNetworks: [],
      seedNodes: [],
      dnsSeeds: null,
      dnsSeedHosts: [],
      forceDnsSeeds: false,
      fixedSeeds: true,
      permissions: [],
      userAgentComments: [],
      privateBroadcast: false,
      reconciliation: false,
      bloomFilters: false,
      filters: false,
      maxUpload: 0,
      externalAddress: [],
      discover: true,
      captureMessages: 0,
      asmap: null,
      checkAddresses: 0,
      banTime: 86_400,
    });
    expect(config.ops.listen).toBeNull();
    expect(config.ws.auth).toBe('required');
    expect(config.dev.enabled).toBe(false);
    expect(config.chain.maxTipAge).toBe(10_800);
    expect(config.storage.coinsCache).toBe(256);
    expect(config.workers.verify).toBe(6);
    expect(config.wallet).toEqual({
      enabled: true,
      autocreate: true,
      loadAtStart: true,
      signer: null,
      fallbackFee: null,
      keypool: 1000,
      addressType: 'bech32',
      changeType: 'auto',
      max: 500,
      passphraseFile: null,
      directory: null,
      backupDirectory: null,
      pathRoot: null,
      minFeeRate: 1,
      discardFeeRate: 10,
      consolidateFeeRate: 10,
      maxFee: 10_000_000,
      confirmTarget: 6,
      replaceable: true,
      avoidPartialSpends: false,
      avoidPartialSpendsMaxFee: 0,
      spendUnconfirmedChange: true,
      rejectLongChains: true,
      maxAncestors: 25,
      maxDescendants: 25,
      broadcast: true,
    });
    expect(config.index).toEqual({
      tx: true,
      address: true,
      spender: false,
      coinStats: false,
      removeDisabled: false,
      filter: false,
    });
    expect(config.rpcauth).toEqual([]);
    expect(config.rpcscopes).toEqual(['read', 'broadcast', 'wallet']);
    expect(config.listing.confirmations).toEqual({ deposit: 3, depositLarge: 6, withdrawal: 1 });
    expect(config.ready.disk).toEqual({ degraded: 10_240, fail: 1024 });
    expect(config.http.pages.utxos).toEqual({ default: 1000, max: 5000 });
    expect(config.http.limits.rpcBodyBytes).toBe(16_777_216);
  });

  test.each([
    ['main', 8332, 8333],
    ['testnet4', 48332, 48333],
    ['signet', 38332, 38333],
    ['regtest', 18443, 18444],
  ])('default ports of %s', (network, http, p2p) => {
    const config = load(['--network', network]);
    expect(config.http.listen[0]!.port).toBe(http);
    expect(config.p2p.listen[0]?.port).toBe(p2p);
    expect(config.networkDir.endsWith(`/${network}`)).toBe(true);
  });

  test.each([
    [0.25, 32],
    [1, 64],
    [3, 192],
    [64, 512],
  ])('the coins cache of a machine with %d GiB', (gibibytes, mebibytes) => {
    const { config } = loadConfig([], { ...host({}), memory: gibibytes * 1024 ** 3 });
    expect(config.storage.coinsCache).toBe(mebibytes);
  });

  test('regtest has no limit for the age of the tip and low limits for free space', () => {
    const config = load(['--network=regtest']);
    expect(config.chain.maxTipAge).toBe(0);
    expect(config.ready.disk).toEqual({ degraded: 1024, fail: 100 });
  });

  test('developer mode listens for no peers by default', () => {
    expect(load(['--network', 'regtest', '--dev']).p2p.listen).toEqual([]);
    expect(load(['--network', 'regtest', '--dev', '--p2p.listen', '0.0.0.0:1']).p2p.listen[0]?.port).toBe(1);
  });

  test('XDG_DATA_HOME moves the data directory, and a relative one is ignored', () => {
    expect(load([], { env: { XDG_DATA_HOME: '/data' } }).datadir).toBe('/data/obverse');
    expect(load([], { env: { XDG_DATA_HOME: 'data' } }).datadir).toBe('/home/op/.local/share/obverse');
  });

  test('the result is deeply frozen and can be sent to a worker', () => {
    const config = load(['--p2p.connect', 'a.example']);
    expect(() => Object.assign(config.http.limits, { urlBytes: 1 })).toThrow(TypeError);
    expect(() => (config.p2p.connect as unknown[]).push(1)).toThrow(TypeError);
    expect(structuredClone(config)).toEqual(config);
  });
});

describe('sources', () => {
  const file = 'log.level = "error"';
  const env = { OBVERSE_LOG_LEVEL: 'warn' };
  const flag = ['--log.level', 'debug'];
  test.each([
    ['default', [], {}, 'info'],
    ['file', [], { file }, 'error'],
    ['environment before file', [], { file, env }, 'warn'],
    ['flag before environment and file', flag, { file, env }, 'debug'],
    ['flag before file', flag, { file }, 'debug'],
  ] as const)('%s', (_, args, around, level) => expect(load(args, around).log.level).toBe(level));

  test('settings from different sources depend on the same network', () => {
    const config = load(['--chain.maxTipAge=5'], { env: { OBVERSE_DEV_ENABLED: 'true' }, file: 'network = "regtest"' });
    expect([config.network, config.http.listen[0]!.port, config.chain.maxTipAge]).toEqual(['regtest', 18443, 5]);
    expect(config.p2p.listen).toEqual([]);
  });

  test.each([
    ['OBVERSE_NETWORK', 'signet', (c: Config) => c.network, 'signet'],
    ['OBVERSE_DATADIR', '/d', (c: Config) => c.datadir, '/d'],
    [
      'OBVERSE_HTTP_ALLOWED_HOSTS',
      'a.example, b.example',
      (c: Config) => c.http.allowedHosts,
      ['a.example', 'b.example'],
    ],
    ['OBVERSE_HTTP_PUBLIC_URL', 'https://n.example/', (c: Config) => c.http.publicUrl, 'https://n.example'],
    ['OBVERSE_WS_AUTH', 'public', (c: Config) => c.ws.auth, 'public'],
    ['OBVERSE_CHAIN_MAX_TIP_AGE', '60', (c: Config) => c.chain.maxTipAge, 60],
    ['OBVERSE_WALLET_FALLBACK_FEE', '1.5', (c: Config) => c.wallet.fallbackFee, 1.5],
    [
      'OBVERSE_RPCWHITELIST',
      'eve:getblock, help,bob:Help,eve:stop',
      (c: Config) => c.rpcwhitelist,
      [
        { user: 'eve', methods: ['getblock', 'help', 'stop'] },
        { user: 'bob', methods: ['help'] },
      ],
    ],
    ['OBVERSE_RPCWHITELISTDEFAULT', 'false', (c: Config) => c.rpcwhitelistdefault, false],
    ['OBVERSE_P2P_LISTEN', '', (c: Config) => c.p2p.listen, []],
    ['OBVERSE_P2P_ENABLED', 'false', (c: Config) => c.p2p.enabled, false],
  ] as const)('%s=%s', (name, value, read, expected) => {
    expect(read(load([], { env: { [name]: value } }))).toEqual(expected as never);
  });

  test('OBVERSE_CONFIG names the file', () => {
    const { config } = loadConfig([], host({ env: { OBVERSE_CONFIG: FILE }, file: 'network = "signet"' }));
    expect([config.network, config.config]).toEqual(['signet', FILE]);
  });

  test('OBVERSE_API_KEY, OBVERSE_VECTORS and variables of other programs are not settings', () => {
    const env = { OBVERSE_API_KEY: 'x'.repeat(40), OBVERSE_VECTORS: '/v', PATH: '/bin', OBVERSEX: '1' };
    expect(problems([], { env })).toEqual([]);
  });

  test('flags accept both forms of a value, and the short forms', () => {
    expect(load(['--log.level=debug']).log.level).toBe('debug');
    expect(load(['--rpc.basic', 'false']).rpc.basic).toBe(false);
    expect(load(['--rpc.basic=false']).rpc.basic).toBe(false);
    expect(load(['--index.filter']).index.filter).toBe(true);
    expect(load(['--index.filter', '--log.level', 'warn']).index.filter).toBe(true);
    expect(load(['--http.publicUrl=https://x.example/?a=b']).http.publicUrl).toBe('https://x.example/?a=b');
  });

  test('a list flag may be repeated', () => {
    expect(load(['--p2p.connect=a:1', '--p2p.connect', 'b']).p2p.connect).toEqual([
      { host: 'a', port: 1 },
      { host: 'b', port: 8333 },
    ]);
    expect(load(['--import', 'a.dat', '--import', '/b.dat']).import.files).toEqual(['/srv/run/a.dat', '/b.dat']);
  });

  test('arguments that are not flags are returned in order', () => {
    const { positionals } = loadConfig(['live', '--index.filter', 'x', '--network', 'signet', 'y'], host({}));
    expect(positionals).toEqual(['live', 'x', 'y']);
  });

  test('the file may use tables, dotted keys and arrays', () => {
    const config = load([], {
      file: `
        network = "regtest"
        p2p.connect = ["[::1]:5", "peer.example"]
        [http]
        allowedHosts = ["node.example"]
        tls = { cert = "tls.crt", key = "/keys/tls.key" }
        [http.limits]
        urlBytes = 1000
        [listing.links]
        website = "https://coin.example"
        [wallet]
        fallbackFee = 2
        [consensus]
        testActivationHeight = ["segwit@10", "csv@0"]
        blockVersion = -5`,
    });
    expect(config.p2p.connect).toEqual([
      { host: '::1', port: 5 },
      { host: 'peer.example', port: 18444 },
    ]);
    expect(config.http.allowedHosts).toEqual(['node.example']);
    expect(config.http.limits.urlBytes).toBe(1000);
    expect(config.listing.links.website).toBe('https://coin.example');
    expect(config.wallet.fallbackFee).toBe(2);
    expect(config.consensus.testActivationHeight).toEqual(['segwit@10', 'csv@0']);
    expect(config.consensus.blockVersion).toBe(-5);
    // Relative to the file, not to where the node was started.
    expect(config.http.tls).toEqual({ cert: '/etc/obverse/tls.crt', key: '/keys/tls.key' });
  });

  test('~ in a path is the home directory, even where no shell has expanded it', () => {
    expect(load(['--datadir=~/node']).datadir).toBe('/home/op/node');
    expect(load(['--datadir=rel']).datadir).toBe('/srv/run/rel');
  });
});

describe('an error names the setting, its source and the allowed values in one line', () => {
  const line = (args: readonly string[], around?: Around) => {
    const lines = problems(args, around);
    expect(lines).toHaveLength(1);
    return lines[0]!;
  };

  test.each([
    [
      'enum',
      '--network=mainnet',
      'network: "mainnet" from flag --network is not allowed: must be main, testnet4, signet or regtest',
    ],
    [
      'boolean',
      '--p2p.enabled=yes',
      'p2p.enabled: "yes" from flag --p2p.enabled is not allowed: must be true or false',
    ],
    [
      'integer',
      '--rpc.maxBatch=1e3',
      'rpc.maxBatch: "1e3" from flag --rpc.maxBatch is not allowed: must be an integer of at least 1',
    ],
    [
      'integer too small',
      '--storage.coinsCache=0',
      'storage.coinsCache: "0" from flag --storage.coinsCache is not allowed: must be an integer from 4 to 4096',
    ],
    [
      'integer too big',
      '--workers.verify=257',
      'workers.verify: "257" from flag --workers.verify is not allowed: must be an integer from 1 to 256',
    ],
    [
      'number',
      '--wallet.fallbackFee=-1',
      'wallet.fallbackFee: "-1" from flag --wallet.fallbackFee is not allowed: must be a number of at least 0',
    ],
    [
      'address',
      '--http.listen=localhost',
      'http.listen: "localhost" from flag --http.listen is not allowed: must be host:port, or a list of them',
    ],
    [
      'port',
      '--http.listen=localhost:65536',
      'http.listen: "localhost:65536" from flag --http.listen is not allowed: must be host:port, or a list of them',
    ],
    [
      'bare IPv6',
      '--http.listen=::1:80',
      'http.listen: "::1:80" from flag --http.listen is not allowed: must be host:port, or a list of them',
    ],
    [
      'no address',
      '--http.listen=',
      'http.listen: "" from flag --http.listen is not allowed: must be host:port, or a list of them',
    ],
    [
      'list element',
      '--p2p.connect=a,b:x',
      'p2p.connect: "a,b:x" from flag --p2p.connect is not allowed: must be a list of host or host:port',
    ],
    ['path', '--datadir=', 'datadir: "" from flag --datadir is not allowed: must be a path'],
    [
      'URL',
      '--http.publicUrl=node.example',
      'http.publicUrl: "node.example" from flag --http.publicUrl is not allowed: must be an http:// or https:// URL',
    ],
    [
      'origin',
      '--http.corsOrigins=https://a.example/',
      'http.corsOrigins: "https://a.example/" from flag --http.corsOrigins is not allowed: must be a list of origins such as https://app.example',
    ],
    [
      'origin',
      '--http.corsOrigins=*',
      'http.corsOrigins: "*" from flag --http.corsOrigins is not allowed: must be a list of origins such as https://app.example',
    ],
    [
      'string',
      '--service.name=a b',
      'service.name: "a b" from flag --service.name is not allowed: must be 1 to 64 letters, digits, dots, dashes or underscores',
    ],
    [
      'scope',
      '--rpcscopes=read,root',
      'rpcscopes: "read,root" from flag --rpcscopes is not allowed: must be a list of read, broadcast, wallet.read, wallet.spend, wallet.keys, wallet, mining, metrics or admin',
    ],
  ])('%s %s', (_, flag, expected) => expect(line([flag])).toBe(expected));

  test.each([
    [
      'integer',
      'rpc.maxBatch = "10"',
      'rpc.maxBatch: "10" from file /etc/obverse/obverse.toml is not allowed: must be an integer of at least 1',
    ],
    [
      'integer',
      'rpc.maxBatch = 1.5',
      'rpc.maxBatch: 1.5 from file /etc/obverse/obverse.toml is not allowed: must be an integer of at least 1',
    ],
    [
      'boolean',
      'p2p.enabled = "true"',
      'p2p.enabled: "true" from file /etc/obverse/obverse.toml is not allowed: must be true or false',
    ],
    [
      'list',
      'p2p.connect = "a,b"',
      'p2p.connect: "a,b" from file /etc/obverse/obverse.toml is not allowed: must be a list of host or host:port',
    ],
    [
      'no address',
      'http.listen = []',
      'http.listen: [] from file /etc/obverse/obverse.toml is not allowed: must be host:port, or a list of them',
    ],
    [
      'list element',
      'p2p.connect = [1]',
      'p2p.connect: [1] from file /etc/obverse/obverse.toml is not allowed: must be a list of host or host:port',
    ],
    [
      'table for a value',
      '[network]\nname = "main"',
      'network: {"name":"main"} from file /etc/obverse/obverse.toml is not allowed: must be main, testnet4, signet or regtest',
    ],
    ['value for a table', 'http = 1', 'unknown key http in file /etc/obverse/obverse.toml (did you mean http.listen?)'],
    [
      'config',
      'config = "/x"',
      'config: not allowed in file /etc/obverse/obverse.toml: only as flag or environment variable',
    ],
    [
      'array of tables',
      '[[p2p]]\nenabled = true',
      'unknown key p2p in file /etc/obverse/obverse.toml (did you mean p2p.enabled?)',
    ],
    [
      'unknown key',
      '[http]\nlitsen = "x"',
      'unknown key http.litsen in file /etc/obverse/obverse.toml (did you mean http.listen?)',
    ],
    ['unknown table', '[zmq]\npub = "x"', 'unknown key zmq in file /etc/obverse/obverse.toml'],
    [
      'key given twice',
      '"log.level" = "info"\nlog.level = "warn"',
      'log.level: given twice in file /etc/obverse/obverse.toml',
    ],
    [
      'not TOML',
      'network = "main"\n\nlog = \n',
      "/etc/obverse/obverse.toml, at or after line 3: Missing value after '='; values must be on the same line",
    ],
    [
      'redefined',
      'network = "main"\nnetwork = "main"',
      "/etc/obverse/obverse.toml, at or after line 2: Cannot redefine key 'network'",
    ],
  ])('the file value %s %j is rejected', (_, file, expected) => expect(line([], { file })).toBe(expected));

  test('a bad value of an environment variable is rejected', () => {
    expect(line([], { env: { OBVERSE_P2P_ENABLED: '1' } })).toBe(
      'p2p.enabled: "1" from environment OBVERSE_P2P_ENABLED is not allowed: must be true or false',
    );
    expect(line([], { env: { OBVERSE_HTTP_ALLOWEDHOSTS: 'x' } })).toBe(
      'unknown environment variable OBVERSE_HTTP_ALLOWEDHOSTS (did you mean OBVERSE_HTTP_ALLOWED_HOSTS?)',
    );
    expect(line([], { env: { OBVERSE_APIKEY: 'x' } })).toBe(
      'unknown environment variable OBVERSE_APIKEY (did you mean OBVERSE_API_KEY?)',
    );
  });

  test.each([
    ['--netwrok=main', 'unknown flag --netwrok (did you mean network?)'],
    ['--http.allowed-hosts=a', 'unknown flag --http.allowed-hosts (did you mean http.allowedHosts?)'],
    ['-network', 'unknown flag -network (did you mean network?)'],
    ['--toString', 'unknown flag --toString'],
    ['--zmqpubrawblock=tcp://x', 'unknown flag --zmqpubrawblock'],
    ['--log.level', 'log.level: flag --log.level needs a value: error, warn, info or debug'],
  ])('%s', (flag, expected) => expect(line([flag])).toBe(expected));

  test.each([
    ['getblock,bob:help'],
    ['bob:help, ,stop'],
    ['bob:get block'],
    [':help'],
    ['bob:help,al ice:stop'],
    ['bob:1help'],
  ])('rpcwhitelist %j', (text) => {
    const form = 'user:method,method,… for each user, or methods alone for every user';
    expect(line([`--rpcwhitelist=${text}`])).toBe(
      `rpcwhitelist: ${JSON.stringify(text)} from flag --rpcwhitelist is not allowed: must be ${form}`,
    );
    expect(problems([], { file: `rpcwhitelist = ["eve:stop", ${JSON.stringify(text)}]` })).toHaveLength(1);
  });

  test('rpcwhitelist with users in one line and none in another is rejected', () => {
    expect(problems(['--rpcwhitelist=help', '--rpcwhitelist=bob:help'])).toHaveLength(1);
    expect(problems([], { file: 'rpcwhitelist = ["help", "bob:help"]' })).toHaveLength(1);
  });

  test('a flag without its value does not consume the next flag', () => {
    expect(line(['--log.level', '--index.filter'])).toBe(
      'log.level: flag --log.level needs a value: error, warn, info or debug',
    );
  });

  test('duplicates', () => {
    expect(line(['--log.level=info', '--log.level=warn'])).toBe(
      'log.level: given twice, by flag --log.level and flag --log.level',
    );
    expect(line(['--network=regtest', '--dev', '--dev.enabled=false'])).toBe(
      'dev.enabled: given twice, by flag --dev and flag --dev.enabled',
    );
  });

  test('a configuration file that does not exist is reported', () => {
    expect(line(['--config', 'no.toml'])).toBe('config: cannot read /srv/run/no.toml: no such file');
  });

  test.each([
    [['--http.tls.cert=/c'], 'http.tls.cert and http.tls.key: both or neither must be given'],
    [
      ['--p2p.onlyNetworks=ipv4,onion'],
      'p2p.onlyNetworks: onion can only be reached through p2p.onionProxy, p2p.proxy or p2p.torControl',
    ],
    [['--p2p.filters'], 'p2p.filters: needs index.filter'],
    [
      ['--p2p.onlyNetworks=onion', '--p2p.proxy=none=onion', '--p2p.torControl=127.0.0.1:9051'],
      'p2p.onlyNetworks: onion can only be reached through p2p.onionProxy, p2p.proxy or p2p.torControl',
    ],
    [
      ['--p2p.privateBroadcast'],
      'p2p.privateBroadcast: needs onion services, which p2p.onionProxy, p2p.proxy or p2p.torControl reaches',
    ],
    [
      ['--p2p.privateBroadcast', '--p2p.proxy=127.0.0.1:9050', '--p2p.autoConnect=false'],
      'p2p.privateBroadcast: not with p2p.connect or without p2p.autoConnect, since it connects to peers of its own choice',
    ],
    [
      ['--p2p.forceDnsSeeds', '--p2p.connect=a'],
      'p2p.forceDnsSeeds: needs p2p.dnsSeeds, which is false with p2p.connect and without p2p.autoConnect',
    ],
    [
      ['--p2p.listen=[::1]:1,127.0.0.1:1', '--p2p.listenOnion=127.0.0.1:1'],
      'p2p.listen and p2p.listenOnion: 127.0.0.1:1 is listed twice',
    ],
    [['--http.listen=[::1]:1,127.0.0.1:0,127.0.0.1:0,[::1]:1'], 'http.listen: [::1]:1 is listed twice'],
    [['--dev'], 'dev.enabled: only allowed with network regtest, not main'],
    [
      ['--consensus.testActivationHeight=csv@1'],
      'consensus.testActivationHeight: only allowed with network regtest, not main',
    ],
    [['--consensus.enforceBip94'], 'consensus.enforceBip94: only allowed with network regtest, not main'],
    [['--mining.maxWeight=7999'], 'mining.reservedWeight: 8000 must not exceed mining.maxWeight, 7999'],
    [['--consensus.signetChallenge=51'], 'consensus.signetChallenge: only allowed with network signet, not main'],
    [['--consensus.blockVersion=4'], 'consensus.blockVersion: only allowed with network regtest, not main'],
    [['--http.pages.utxos.max=10'], 'http.pages.utxos.default: 1000 must not exceed http.pages.utxos.max, 10'],
    [['--ready.disk.fail=20000'], 'ready.disk.fail: 20000 must not exceed ready.disk.degraded, 10240'],
  ])('the contradiction %j is rejected', (args, expected) => expect(line(args)).toBe(expected));

  test('all problems are reported at once', () => {
    expect(problems(['--nope', '--log.level=loud'], { env: { OBVERSE_NO: '' }, file: 'ws.auth = 1' })).toHaveLength(4);
  });
});

describe('secrets do not appear in errors', () => {
  const SECRET = 'hunter2';
  const salted = `alice:${SECRET}$${'0f'.repeat(32)}`;
  const holdsSecret = (lines: readonly string[]) => lines.join('\n').includes(SECRET);

  test('rpcauth is read from every source', () => {
    expect(load([`--rpcauth=${salted}`]).rpcauth).toEqual([salted]);
    expect(load([], { env: { OBVERSE_RPCAUTH: salted } }).rpcauth).toEqual([salted]);
    expect(load([], { file: `rpcauth = ["${salted}"]` }).rpcauth).toEqual([salted]);
  });

  test.each([
    ['bad flag', [`--rpcauth=alice:${SECRET}`], {}],
    ['bad variable', [], { env: { OBVERSE_RPCAUTH: SECRET } }],
    ['bad file value', [], { file: `rpcauth = "${SECRET}"` }],
    ['unquoted in the file', [], { file: `rpcauth = ${SECRET}` }],
    ['unfinished in the file', [], { file: `rpcauth = ["${SECRET}]` }],
    ['unknown flag', [`--rpcpassword=${SECRET}`], {}],
    ['unknown flag with a value apart', ['--rpcpassword', SECRET], {}],
    ['unknown variable', [], { env: { OBVERSE_PASSWORD: SECRET } }],
    ['unknown key', [], { file: `rpcpassword = "${SECRET}"` }],
  ] as const)('%s', (_, args, around) => {
    const lines = problems(args, around);
    expect(lines).toHaveLength(1);
    expect(holdsSecret(lines)).toBe(false);
  });
});
