import { describe, expect, test } from 'bun:test';
import { checkBlock } from '../../src/consensus/check-block.ts';
import { checkSignetSolution, signetTransactions } from '../../src/consensus/signet-solution.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import { customSignet, signet } from '../../src/params/signet.ts';
import { type ParsedBlock, parseBlock } from '../../src/primitives/block.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { blockOf, coinbaseOf, output, txOf } from './block-fixture.ts';

// The first two blocks of the public signet.
const BLOCK_1 =
  '00000020f61eee3b63a380a477a063af32b2bbc97c9ff9f01f2c4225e973988108000000f575c83235984e7dc4afc1f30944c170462e84437ab6f2d52e16878a79e4678bd1914d5fae77031eccf4070001010000000001010000000000000000000000000000000000000000000000000000000000000000ffffffff025151feffffff0200f2052a010000001600149243f727dd5343293eb83174324019ec16c2630f0000000000000000776a24aa21a9ede2f61c3f71d1defd3fa999dfa36953755c690689799962b48bebd836974e8cf94c4fecc7daa2490047304402205e423a8754336ca99dbe16509b877ef1bf98d008836c725005b3c787c41ebe46022047246e4467ad7cc7f1ad98662afcaf14c115e0095a227c7b05c5182591c23e7e01000120000000000000000000000000000000000000000000000000000000000000000000000000';
const BLOCK_2 =
  '00000020533b53ded9bff4adc94101d32400a144c54edc5ed492a3b26c63b2d686000000b38fef50592017cfafbcab88eb3d9cf50b2c801711cad8299495d26df5e54812e7914d5fae77031ecfdd0b0001010000000001010000000000000000000000000000000000000000000000000000000000000000ffffffff025251feffffff0200f2052a01000000160014fd09839740f0e0b4fc6d5e2527e4022aa9b89dfa0000000000000000776a24aa21a9ede2f61c3f71d1defd3fa999dfa36953755c690689799962b48bebd836974e8cf94c4fecc7daa24900473044022031d64a1692cdad1fc0ced69838169fe19ae01be524d831b95fcf5ea4e6541c3c02204f9dea0801df8b4d0cd0857c62ab35c6c25cc47c930630dc7fe723531daa3e9b01000120000000000000000000000000000000000000000000000000000000000000000000000000';

describe('the public signet', () => {
  for (const [height, hex] of [BLOCK_1, BLOCK_2].entries())
    test(`block ${height + 1} has a valid solution`, () => {
      expect(checkBlock(parseBlock(hexToBytes(hex)), signet.consensus)).toBeNull();
    });

  test('the genesis block needs no solution', () => {
    expect(checkBlock(parseBlock(genesisBlock(signet)), signet.consensus)).toBeNull();
  });

  test('bad-signet-blksig: the solution does not satisfy another challenge', () => {
    // Both keys must sign.
    const challenge = hexToBytes(signet.consensus.signetChallenge!.toHex().replace(/^51/, '52'));
    const block = parseBlock(hexToBytes(BLOCK_1));
    expect(checkBlock(block, customSignet(challenge).consensus)).toMatchObject({
      kind: 'consensus',
      reason: 'bad-signet-blksig',
      debug: 'signet block signature validation failure',
    });
  });

  test('the solution commits to time, parent and transactions of the block, but not to its nonce', () => {
    const bytes = hexToBytes(BLOCK_1);
    const changed = (at: number) => {
      const copy = bytes.slice();
      copy[at]! ^= 1;
      return checkSignetSolution(parseBlock(copy), signet.consensus);
    };
    expect(changed(0)).toBe(false); // version
    expect(changed(4)).toBe(false); // parent
    expect(changed(68)).toBe(false); // time
    expect(changed(145)).toBe(false); // coinbase
    expect(changed(36)).toBe(true); // merkle root, which is computed again
    expect(changed(72)).toBe(true); // bits
    expect(changed(76)).toBe(true); // nonce
  });
});

describe('decoding a solution', () => {
  const { consensus } = customSignet(Uint8Array.of(0x51));
  const commitment = concatBytes(hexToBytes('6a24aa21a9ed'), new Uint8Array(32).fill(0xff));
  const solved = (script: Uint8Array): ParsedBlock => blockOf([coinbaseOf({ outputs: [output(0n, script)] }), txOf()]);
  const check = (suffix: string) => checkSignetSolution(solved(concatBytes(commitment, hexToBytes(suffix))), consensus);

  test('fails without a witness commitment', () => {
    expect(checkSignetSolution(blockOf([]), consensus)).toBe(false);
    expect(checkSignetSolution(solved(new Uint8Array()), consensus)).toBe(false);
  });

  test('is not needed for a challenge that is always true', () => expect(check('')).toBe(true));
  test('fails for the header alone', () => expect(check('04ecc7daa2')).toBe(true));
  test('fails if bytes are missing', () => expect(check('06ecc7daa20151')).toBe(false));
  test('yields scriptSig and witness', () => expect(check('07ecc7daa2015100')).toBe(true));
  test('fails if bytes are left over', () => expect(check('08ecc7daa201510000')).toBe(false));

  test('removes the solution from the signed data, but not its header', () => {
    const signedOf = (suffix: string) => {
      const block = solved(concatBytes(commitment, hexToBytes(suffix)));
      return signetTransactions(block, Uint8Array.of(0x51))!.toSpend.inputs[0]!.scriptSig;
    };
    // Version, parent and time are equal; the merkle root is computed without the solution.
    expect(signedOf('07ecc7daa2015100')).toEqual(signedOf('08ecc7daa202515100'));
    expect(signedOf('07ecc7daa2015100')).toEqual(signedOf('04ecc7daa2'));
    expect(signedOf('07ecc7daa2015100')).not.toEqual(signedOf(''));
    // Only the first push with the header is a solution; later ones are signed.
    const first = '07ecc7daa2015100';
    expect(signedOf(`${first}06ecc7daa20151`)).not.toEqual(signedOf(first));
    expect(signedOf(`${first}06ecc7daa20151`)).not.toEqual(signedOf(`${first}06ecc7daa20152`));
  });
});
