import { equalBytes } from '../util/bytes.ts';
import { readAddons } from './addon-file.ts';
import { hasPublicKeyShape, isHighS, isOrderOrMore } from './curve.ts';
import { parseDerLax } from './der.ts';
import { sha256 } from './hash-functions.ts';
import type { KeyOperations } from './key-operations.ts';
import { withMemoryFile, withPrivateDirectory } from './private-load.ts';
import { nobleEngine } from './secp256k1-noble.ts';
import type { SignatureEngine } from './signature-engine.ts';

/** The functions of the addon that are used. Zero is success everywhere; wrong lengths throw, so they are checked before. */
interface AddonFunctions extends KeyOperations {
  contextRandomize(seed32: Uint8Array): number;
  publicKeyVerify(publicKey: Uint8Array): number;
  signatureNormalize(signature64: Uint8Array): number;
  ecdsaVerify(signature64: Uint8Array, msg32: Uint8Array, publicKey: Uint8Array): number;
}

interface Addon {
  readonly Secp256k1: new () => AddonFunctions;
}

/** Number of attempts to load, and pause between them in milliseconds. */
const LOAD_TRIES = 50;
const LOAD_PAUSE_MS = 2;

/**
 * Loads the addon; null if there is none for this platform or it cannot be loaded. Throws OperatorError if it was
 * changed.
 */
function loadAddon(): Addon | null {
  for (const bytes of readAddons()) {
    for (const method of [withMemoryFile, withPrivateDirectory]) {
      const addon = tryToLoad(() => method(bytes, dlopenAddon)?.loaded ?? null);
      if (addon !== null) return addon;
    }
  }
  return null;
}

function dlopenAddon(path: string): Addon {
  const module: { exports: unknown } = { exports: {} };
  process.dlopen(module, path);
  return module.exports as Addon;
}

/**
 * Calls `load`, again for the one error that passes: Bun sometimes does not find a symbol of an addon that several
 * threads load at the same moment.
 */
function tryToLoad(load: () => Addon | null): Addon | null {
  for (let tries = 1; ; tries++) {
    try {
      return load();
    } catch (error) {
      const passing = error instanceof Error && error.message.includes('napi_register_module_v1');
      if (!passing || tries >= LOAD_TRIES) return null;
      Bun.sleepSync(LOAD_PAUSE_MS);
    }
  }
}

let loaded: AddonFunctions | null | undefined;

/** Returns the functions of the addon, loaded once in a thread. */
function addonFunctions(): AddonFunctions | null {
  if (loaded === undefined) {
    const addon = loadAddon();
    loaded = addon === null ? null : new addon.Secp256k1();
    // Blinds signing and key derivation against side channels; verification does not use it.
    loaded?.contextRandomize(crypto.getRandomValues(new Uint8Array(32)));
  }
  return loaded;
}

/** Returns the engine of the addon and its key operations; null if there is none for this platform or it cannot be loaded. */
export function openAddon(): { readonly engine: SignatureEngine; readonly keys: KeyOperations } | null {
  const functions = addonFunctions();
  return functions && { engine: new AddonEngine(functions), keys: functions };
}

const tagHash = sha256(new TextEncoder().encode('BIP0340/challenge'));

class AddonEngine implements SignatureEngine {
  readonly name = 'addon';
  readonly #addon: AddonFunctions;
  readonly #fallback = nobleEngine();
  readonly #compact = new Uint8Array(64);
  readonly #product = new Uint8Array(32);
  readonly #tweak = new Uint8Array(32);
  readonly #key = new Uint8Array(33);
  readonly #point = new Uint8Array(33);
  /** tag || tag || R.x || P.x || message */
  readonly #challenge = new Uint8Array(160);

  constructor(addon: AddonFunctions) {
    this.#addon = addon;
    this.#challenge.set(tagHash);
    this.#challenge.set(tagHash, 32);
    this.#key[0] = 2;
  }

  verifyEcdsa(signature: Uint8Array, msg32: Uint8Array, publicKey: Uint8Array): boolean {
    const compact = this.#compact;
    if (!hasPublicKeyShape(publicKey) || !parseDerLax(signature, compact)) return false;
    // libsecp256k1 verifies low S only; an S of n or more fails either way.
    if (isHighS(compact, 32) && this.#addon.signatureNormalize(compact) !== 0) return false;
    return this.#addon.ecdsaVerify(compact, msg32, publicKey) === 0;
  }

  /**
   * BIP-340 verification. The addon has no Schnorr, but its ECDSA recovery computes `r^-1 * (S*R - M*G)`: with r = P.x,
   * S = -e*P.x and M = -s*P.x that is sG - eP, BIP-340's R. Products with zero, and the few x from n to p, which are
   * not a valid r, use the fallback.
   */
  verifySchnorr(signature64: Uint8Array, msg32: Uint8Array, xOnlyKey32: Uint8Array): boolean {
    if (isOrderOrMore(signature64, 32)) return false;
    const challenge = this.#challenge;
    const compact = this.#compact;
    const addon = this.#addon;
    challenge.set(signature64, 64);
    challenge.set(xOnlyKey32, 96);
    challenge.set(msg32, 128);
    const product = this.#product;
    const tweak = sha256(challenge, this.#tweak);
    product.set(xOnlyKey32);
    if (addon.privateKeyTweakMul(product, tweak) !== 0 || addon.privateKeyNegate(product) !== 0)
      return this.#fallback.verifySchnorr(signature64, msg32, xOnlyKey32);
    compact.set(xOnlyKey32);
    compact.set(product, 32);
    for (let i = 0; i < 32; i++) tweak[i] = signature64[32 + i]!;
    product.set(xOnlyKey32);
    if (addon.privateKeyTweakMul(product, tweak) !== 0 || addon.privateKeyNegate(product) !== 0)
      return this.#fallback.verifySchnorr(signature64, msg32, xOnlyKey32);
    // Recovery id 0 selects the even Y for P; recovery fails for an x off the curve and if R is infinity.
    const point = this.#point;
    if (addon.ecdsaRecover(point, compact, 0, product) !== 0 || point[0] !== 2) return false;
    for (let i = 0; i < 32; i++) if (point[1 + i] !== signature64[i]) return false;
    return true;
  }

  checkTapTweak(outputKey32: Uint8Array, internalKey32: Uint8Array, tweak32: Uint8Array, parity: number): boolean {
    this.#key.set(internalKey32, 1);
    const point = this.#point;
    if (this.#addon.publicKeyTweakAdd(point, this.#key, tweak32) !== 0) return false;
    return point[0] === 2 + parity && equalBytes(point.subarray(1), outputKey32);
  }

  isValidPublicKey(publicKey: Uint8Array): boolean {
    return hasPublicKeyShape(publicKey) && this.#addon.publicKeyVerify(publicKey) === 0;
  }
}
