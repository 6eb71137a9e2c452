import { describe, expect, test } from 'bun:test';
import { restReadTarget, restTarget } from '../../../src/rpc/core-rest/rest-target.ts';

const HASH = 'ab'.repeat(32);

describe('the target of a read of the REST interface of Core', () => {
  test.each([
    [`/rest/block/${HASH}.json?a=1&b=2`, ''],
    [`/rest/tx/${HASH}.bin?offset=1`, ''],
    [`/rest/blockpart/${HASH}.bin?x=9&size=7&offset=5&size=8`, 'offset=5&size=7'],
    [`/rest/blockpart/${HASH}.bin?offset=%35`, 'offset=%35'],
    [`/rest/blockpart/${HASH}.bin?offset=a%26size=3`, 'offset=a%26size=3'],
    [`/rest/headers/${HASH}.bin?count=3&count=4&z`, 'count=3'],
    [`/rest/blockfilterheaders/basic/${HASH}.bin?count`, 'count'],
  ])('%s has the query %p', (path, query) => {
    const target = restTarget(path)!;
    expect(restReadTarget(target)).toEqual({ ...target, query });
  });
});
