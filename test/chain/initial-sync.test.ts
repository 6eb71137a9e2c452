import { expect, test } from 'bun:test';
import type { ChainEntry } from '../../src/chain/chain-entry.ts';
import { InitialSync } from '../../src/chain/initial-sync.ts';
import { regtest } from '../../src/params/regtest.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const NOW = 1_800_000_000;

const isOver = (age: number, maxTipAge?: number) => {
  const sync = new InitialSync(regtest.consensus, new ManualClock(NOW * 1000), maxTipAge);
  sync.update({ chainwork: 2n, time: NOW - age } as ChainEntry);
  return !sync.active;
};

test('the initial sync is over with a tip of the last day', () => {
  expect([isOver(86_400), isOver(86_401)]).toEqual([true, false]);
});

test('the age of the tip can be set', () => {
  expect([isOver(3600, 3600), isOver(3601, 3600)]).toEqual([true, false]);
});

test('an ended initial sync does not begin again', () => {
  const sync = new InitialSync(regtest.consensus, new ManualClock(NOW * 1000), 60);
  sync.update({ chainwork: 2n, time: NOW } as ChainEntry);
  sync.update({ chainwork: 2n, time: NOW - 1000 } as ChainEntry);
  expect(sync.active).toBe(false);
});
