import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config/load.ts';
import { relayOptionsOf } from '../../src/node/relay-settings.ts';

const host = {
  env: {},
  home: '/home/user',
  cwd: '/',
  cores: 1,
  memory: 2 ** 32,
  readFile: () => {
    throw new Error('no file');
  },
};

// Satoshis per 1,000 virtual bytes, as Core for -minrelaytxfee and -incrementalrelayfee.
test.each([
  [[], 100n, 100n],
  [['--relay.incrementalFeeRate=0.234'], 234n, 234n],
  [['--relay.incrementalFeeRate=0'], 100n, 0n],
  [['--relay.incrementalFeeRate=5', '--relay.minFeeRate=0.1'], 100n, 5000n],
  [['--relay.minFeeRate=0'], 0n, 100n],
  [['--relay.minFeeRate='], 100n, 100n],
])('with %j the minimum feerate of the relay is %d and the incremental one %d', (args, minimum, incremental) => {
  const { config } = loadConfig(['--network=regtest', ...args], host as never);
  const { minRelayFeerate, incrementalFeerate } = relayOptionsOf(config);
  expect([minRelayFeerate, incrementalFeerate]).toEqual([minimum, incremental]);
});
