import { expect, test } from 'bun:test';
import { warnOfHighFees } from '../../src/node/high-fees.ts';
import { createLog } from '../../src/util/log.ts';
import { defaultConfig } from '../lib/default-options.ts';

const USUAL = {
  minFeeRate: 1000,
  avoidPartialSpendsMaxFee: 10_000,
  fallbackFee: 1000,
  discardFeeRate: 1000,
  maxFee: 100_000_000,
} as const;

/** Returns the settings that are reported where these values differ from the defaults of mainnet. */
function reported(wallet: Partial<Record<keyof typeof USUAL, number>>, relay: { minFeeRate?: number } = {}): string[] {
  let text = '';
  const decoder = new TextDecoder();
  const write = (bytes: Uint8Array) => {
    text += decoder.decode(bytes);
    return bytes.length;
  };
  const log = createLog({ level: 'info', format: 'json', write });
  const config = defaultConfig('main');
  warnOfHighFees({ wallet: { ...config.wallet, ...wallet }, relay: { ...config.relay, ...relay } }, log);
  log.flush();
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { setting: string }).setting);
}

test('the defaults, and the highest usual fees, are not reported', () => {
  expect(reported({})).toEqual([]);
  expect(reported(USUAL, { minFeeRate: 1000 })).toEqual([]);
  expect(reported({ avoidPartialSpendsMaxFee: -1 })).toEqual([]);
});

test('each fee above the value at which Core warns is reported by the name of its setting', () => {
  for (const [name, value] of Object.entries(USUAL))
    expect(reported({ [name]: value + (name.endsWith('Fee') && name !== 'fallbackFee' ? 1 : 0.001) })).toEqual([
      `wallet.${name}`,
    ]);
  expect(reported({}, { minFeeRate: 1000.001 })).toEqual(['relay.minFeeRate']);
});
