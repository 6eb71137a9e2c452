/** A JSON value as a client writes it. */
type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/** One call of a method, as its help and the documents show it. */
export interface Example {
  /** By position or by name. */
  readonly params: readonly JsonValue[] | { readonly [name: string]: JsonValue };
  /** Purpose of the call, where its arguments do not show it; may be empty. */
  readonly about: string;
}

export function example(params: Example['params'], about = ''): Example {
  return { params, about };
}

/**
 * Values that several examples use. Addresses and keys are those of test networks, so that a copied example moves no
 * coins on the main network. The private keys are published here and must hold nothing.
 */
export const EXAMPLE = {
  /** Genesis block of regtest: it is there on every regtest node. */
  blockHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
  txid: 'b4749f017444b051c44dfd2720e88f314ff94f3dd6d56d40ef65854fcd7fff6b',
  /** P2WPKH of `publicKey`. */
  address: 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080',
  /** P2WSH. */
  otherAddress: 'bcrt1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzf4jry',
  /** P2PKH of `publicKey`. */
  legacyAddress: 'mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r',
  /** WIF of `publicKey`. */
  privateKey: 'cMahea7zqjxrtgAbB7LSGbcQUr1uX1ojuat9jZodMN87JcbXMTcA',
  publicKey: '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
  otherPublicKey: '02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5',
  extendedPublicKey:
    'tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B',
  extendedPrivateKey:
    'tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK',
  /** `wpkh` of `publicKey`, with its checksum. */
  descriptor: 'wpkh(0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798)#ucxz0gak',
  /** The external and the internal chain of `extendedPublicKey`, with the checksum. */
  multipathDescriptor:
    'wpkh(tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B/<0;1>/*)#0pfxqzvr',
  /** Spends output 0 of `txid` and pays 0.1 to `otherAddress`; unsigned. */
  transaction:
    '02000000016bff7fcd4f8565ef406dd5d63d4ff94f318fe82027fd4dc451b04474019f74b40000000000fdffffff0180969800000000002200201863143c14c5166804bd19203356da136c985678cd4d27a1b8c632960490326200000000',
  /** `transaction`, signed by `privateKey`. */
  signedTransaction:
    '020000000001016bff7fcd4f8565ef406dd5d63d4ff94f318fe82027fd4dc451b04474019f74b40000000000fdffffff0180969800000000002200201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262024730440220785dec4fb3223a90c41c3c4f4a10d29b1dcc8ed2b87c004ebec72788f6727ff8022024521e6ef6b2abd4db1235800fd63a8f260f85de9f7e21c8d1cfa74cdcd85f0201210279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f8179800000000',
  /** Proof that the coinbase transaction is in the genesis block of regtest. */
  proof:
    '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f200200000001000000013ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a0101',
  /** Genesis block of regtest. */
  block:
    '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f20020000000101000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000',
  /** PSBT of `transaction`, version 0. */
  psbt: 'cHNidP8BAF4CAAAAAWv/f81PhWXvQG3V1j1P+U8xj+ggJ/1NxFGwRHQBn3S0AAAAAAD9////AYCWmAAAAAAAIgAgGGMUPBTFFmgEvRkgM1baE2yYVnjNTSehuMYylgSQMmIAAAAAAAAA',
  /** PSBT that spends output 1 of `txid` and pays 0.2 to `address`, version 0. */
  otherPsbt:
    'cHNidP8BAFICAAAAAWv/f81PhWXvQG3V1j1P+U8xj+ggJ/1NxFGwRHQBn3S0AQAAAAD9////AQAtMQEAAAAAFgAUdR526BmRltRUlBxF0bOjI/FDO9YAAAAAAAAA',
} as const;
