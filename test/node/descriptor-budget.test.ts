import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { descriptorBudget } from '../../src/node/descriptor-budget.ts';

const usual = { peers: 141, http: 4096 };

test('a limit of 65,536 allows all configured connections', () => {
  expect(descriptorBudget(65_536, usual, 0)).toEqual({ limit: 65_536, peers: 141, http: 4096, headroom: 1024 });
});

test('a low limit is divided between peers, clients and the node itself', () => {
  expect(descriptorBudget(1024, usual, 0)).toEqual({ limit: 1024, peers: 141, http: 627, headroom: 128 });
  expect(descriptorBudget(400, usual, 0)).toEqual({ limit: 400, peers: 90, http: 118, headroom: 64 });
});

test('a limit below 256 is refused with the number that is needed', () => {
  expect(() => descriptorBudget(255, usual, 0)).toThrow(
    'the limit of open files is 255, and the node needs at least 256: raise it (ulimit -n, or LimitNOFILE= of the service)',
  );
});

test('each file of a run is counted for seven threads, up to a quarter of what the limit exceeds 256 by', () => {
  expect(descriptorBudget(1024, usual, 20)).toEqual({ limit: 1024, peers: 141, http: 487, headroom: 128 });
  expect(descriptorBudget(1024, usual, 200)).toEqual({ limit: 1024, peers: 141, http: 435, headroom: 128 });
});

test('128 descriptors are reserved for the node under any configuration', () => {
  const wanted = fc.record({ peers: fc.nat(20_000), http: fc.integer({ min: 16, max: 1_000_000 }) });
  fc.assert(
    fc.property(fc.integer({ min: 256, max: 1 << 20 }), wanted, fc.nat(500), (limit, asked, runFiles) => {
      const { peers, http, headroom } = descriptorBudget(limit, asked, runFiles);
      expect(peers + http + headroom).toBeLessThanOrEqual(limit - 128);
      expect(Math.min(peers, http)).toBeGreaterThanOrEqual(Math.min(asked.peers, 16));
    }),
  );
});
