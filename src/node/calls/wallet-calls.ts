import type { CallTable } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import type { WalletCalls } from '../../port/wallet-node-calls.ts';
import { parseAddress } from '../../script/address.ts';
import { sleep } from '../../util/abort.ts';
import { lockCoins } from '../../wallet/coin-locks.ts';
import { createDescriptor, privateDescriptors } from '../../wallet/descriptor-commands.ts';
import { addHdKey, deriveHdKey, hdKeys } from '../../wallet/hd-keys.ts';
import { importDescriptors } from '../../wallet/import-descriptors.ts';
import { importPrunedFunds, removePrunedFunds } from '../../wallet/pruned-funds.ts';
import { type AddressType, isAddressType } from '../../wallet/scripts/own-descriptors.ts';
import { displayAddress } from '../../wallet/signer/display-address.ts';
import type { ExternalSigner } from '../../wallet/signer/external-signer.ts';
import { bumpTransaction } from '../../wallet/spend/bump.ts';
import { createFundedPsbt, fundTransaction, sendMoney, sendPayment } from '../../wallet/spend/send.ts';
import { sendAll } from '../../wallet/spend/send-all.ts';
import { processPsbtText, signOwnMessage, signRaw } from '../../wallet/spend/sign-commands.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { WalletError, walletFail } from '../../wallet/wallet-error.ts';
import type { WalletFlag } from '../../wallet/wallet-flags.ts';
import type { WalletManager } from '../../wallet/wallet-manager.ts';
import { ensureShortText } from '../../wallet/wallet-text.ts';

const WRONG_PASSPHRASE = 'Error: The wallet passphrase entered was incorrect.';
/** Time limit for a wallet to catch up with the tip before it is read as it is. */
const LONGEST_WAIT_MS = 10_000;
/** Core's limit of an unlock, about three years. */
const MAX_UNLOCK_S = 100_000_000;
const NULL_HINT = 'passphrase entered is incorrect. It contains a null character (ie - a zero byte).';

/** Returns the wallet calls of the RPC interface. All but the list of signers are refused where wallets are disabled. */
export function walletCalls(manager: WalletManager | null, signer: ExternalSigner): CallTable<WalletCalls> {
  const refusable =
    <A extends unknown[], R>(work: (...args: A) => R | Promise<R>) =>
    async (...args: A): Promise<R | Refusal> => {
      try {
        return await work(...args);
      } catch (error) {
        if (error instanceof WalletError) return { refused: error.kind, message: error.message };
        throw error;
      }
    };
  const act = <A extends unknown[], R>(work: (manager: WalletManager, ...args: A) => R | Promise<R>) =>
    refusable((...args: A) =>
      work(manager ?? walletFail('walletNotFound', 'wallets are disabled (wallet.enabled)'), ...args),
    );
  const on = <A extends unknown[], R>(work: (wallet: Wallet, ...args: A) => R | Promise<R>) =>
    act(async (wallets, name: string, ...args: A) => {
      const { integrity } = wallets.wallet(name);
      if (integrity.state === 'checking') await integrity.checked;
      // The wallet may have been unloaded meanwhile.
      const wallet = wallets.wallet(name);
      try {
        return await work(wallet, ...args);
      } catch (error) {
        if (wallet.signal.aborted && error === wallet.signal.reason) wallets.wallet(name);
        throw error;
      }
    });
  // One of these at a time: two that choose coins at once would choose the same.
  const alone = <A extends unknown[], R>(work: (wallet: Wallet, ...args: A) => R | Promise<R>) =>
    on(async (wallet, ...args: A) => {
      if (wallet.exclusive.full) walletFail('wallet', 'Error: too many calls are waiting for the wallet');
      return wallet.exclusive.run(() => work(wallet, ...args), wallet.signal);
    });

  return {
    walletSynced: on(async (wallet) => {
      if (wallet.sync.live) return null;
      const enough = new AbortController();
      const late = sleep(LONGEST_WAIT_MS, AbortSignal.any([wallet.signal, enough.signal]));
      await Promise.race([wallet.sync.catchUp(), late]).catch(() => {});
      enough.abort();
      return null;
    }),
    walletDirectory: act((wallets) => wallets.files.names()),
    walletCreate: act(async (wallets, name, options, loadOnStartup) => {
      await wallets.createWallet(name, options, loadOnStartup);
      return null;
    }),
    walletLoad: act(async (wallets, name, loadOnStartup) => {
      await wallets.loadWallet(name, loadOnStartup);
      return null;
    }),
    walletUnload: act(async (wallets, name, loadOnStartup) => {
      await wallets.unloadWallet(name, loadOnStartup);
      return null;
    }),
    walletBackup: act(async (wallets, name, file, replace) => {
      await wallets.backups.write(name, file, { replace });
      return null;
    }),
    walletRestore: act(async (wallets, name, file, loadOnStartup) => {
      await wallets.restoreWallet(name, file, loadOnStartup);
      return null;
    }),
    walletSetFlag: on((wallet, flag, value) => {
      wallet.setFlag(flag as WalletFlag, value);
      return null;
    }),

    walletEncrypt: on(async (wallet, passphrase, caller) => {
      if (wallet.hasFlag('disable_private_keys'))
        walletFail('encryptionFailed', 'Error: wallet does not contain private keys, nothing to encrypt.');
      if (wallet.vault.encrypted)
        walletFail('wrongEncryptionState', 'Error: running with an encrypted wallet, but encryptwallet was called.');
      ensureNotScanning(wallet, 'before encrypting the wallet');
      if (passphrase.length === 0) walletFail('invalidParameter', 'passphrase cannot be empty');
      await wallet.encrypt(passphrase, caller);
      return null;
    }),
    walletUnlock: on(async (wallet, passphrase, seconds, caller) => {
      ensureEncrypted(wallet, 'walletpassphrase');
      if (seconds < 0) walletFail('invalidParameter', 'Timeout cannot be negative.');
      if (passphrase.length === 0) walletFail('invalidParameter', 'passphrase cannot be empty');
      if (!(await wallet.unlock(passphrase, Math.min(seconds, MAX_UNLOCK_S), caller)))
        walletFail('passphraseIncorrect', passphrase.includes(0) ? `Error: The wallet ${NULL_HINT}` : WRONG_PASSPHRASE);
      return null;
    }),
    walletLock: on((wallet) => {
      ensureEncrypted(wallet, 'walletlock');
      ensureNotScanning(wallet, 'before locking the wallet');
      wallet.lock();
      return null;
    }),
    walletChangePassphrase: on(async (wallet, old, next, caller) => {
      ensureEncrypted(wallet, 'walletpassphrasechange');
      ensureNotScanning(wallet, 'before changing the passphrase');
      if (old.length === 0 || next.length === 0) walletFail('invalidParameter', 'passphrase cannot be empty');
      if (!(await wallet.vault.changePassphrase(old, next, caller)))
        walletFail('passphraseIncorrect', old.includes(0) ? `Error: The old wallet ${NULL_HINT}` : WRONG_PASSPHRASE);
      return null;
    }),

    walletNewAddress: on(async (wallet, given, label) => {
      const type = given === null ? wallet.deps.addressType : addressType(given);
      await wallet.inSlices(wallet.scripts.deriveNextSteps(type, false));
      return wallet.newAddress(type, label);
    }),
    walletNewChangeAddress: alone(async (wallet, given) => {
      const { deps } = wallet;
      const type = given === null ? (deps.changeType ?? deps.addressType) : addressType(given);
      await wallet.inSlices(wallet.scripts.deriveNextSteps(type, true));
      return wallet.newChangeAddress(type).address;
    }),
    walletRefillKeypool: on(async (wallet, size, signal) => {
      await wallet.refillKeypool(size, signal);
      return null;
    }),
    walletSetLabel: on((wallet, address, label) => {
      const parsed = parseAddress(address, wallet.deps.params.address);
      if (!parsed.ok) return walletFail('invalidAddressOrKey', 'Invalid Bitcoin address');
      ensureShortText('label', label);
      const purpose = wallet.scripts.owns(parsed.script) ? 'receive' : 'send';
      wallet.store.write(() => wallet.store.setLabel(parsed.script, parsed.address, label, purpose));
      return null;
    }),
    walletSolve: on(async (wallet, script) => {
      await wallet.inSlices(wallet.scripts.deriveScriptSteps(script));
      return wallet.store.write(() => wallet.scripts.solvedText(script));
    }),

    walletPrivateDescriptors: on((wallet, signal) => wallet.inSlices(privateDescriptors(wallet), signal)),
    walletImport: on(importDescriptors),
    walletCreateDescriptor: on((wallet, type, internal, key) =>
      createDescriptor(wallet, addressType(type), internal, key),
    ),
    walletRescan: on(async (wallet, from, to) => {
      wallet.scanner.ensureNotScanning();
      wallet.ensureUnlocked();
      const tip = wallet.deps.chain.tip.height;
      if (from < 0 || from > tip) walletFail('invalidParameter', 'Invalid start_height');
      if (to !== null && (to < 0 || to > tip)) walletFail('invalidParameter', 'Invalid stop_height');
      if (to !== null && to < from) walletFail('invalidParameter', 'stop_height must be greater than start_height');
      if (from < (wallet.deps.chain.pruneHeight ?? 0))
        walletFail(
          'misc',
          wallet.deps.chain.loadedHeight === null
            ? "Can't rescan beyond pruned data. Use RPC call getblockchaininfo to determine your pruned height."
            : 'Failed to rescan unavailable blocks likely due to an in-progress assumeutxo background sync. Check logs or getchainstates RPC for assumeutxo background sync progress and try again later.',
        );
      await wallet.scanner.scan(from, to ?? tip);
      if (to === null) await wallet.scanner.scanMempool();
      return to ?? tip;
    }),
    walletAbortScan: on((wallet) => wallet.scanner.abort()),

    walletLockCoins: alone(async (wallet, unlock, outpoints, persistent) => {
      await lockCoins(wallet, unlock, outpoints, persistent);
      return null;
    }),
    walletSendMoney: alone(sendMoney),
    walletSend: alone(sendPayment),
    walletSendAll: alone(sendAll),
    walletBump: alone(bumpTransaction),
    walletFund: alone(async (wallet, request, signal) => {
      const { raw, fee, changePosition } = await wallet.inSlices(fundTransaction(wallet, request), signal);
      return { raw, fee, changePosition };
    }),
    walletCreatePsbt: alone((wallet, request, version, derivations, signal) =>
      wallet.inSlices(createFundedPsbt(wallet, request, version, derivations), signal),
    ),
    walletProcessPsbt: on(processPsbtText),
    walletSigners: refusable(() => signer.list()),
    walletDisplayAddress: on(displayAddress),
    walletSignTransaction: on((wallet, raw, outputs, scripts, hashType, signal) =>
      wallet.inSlices(signRaw(wallet, raw, outputs, scripts, hashType), signal),
    ),
    walletSignMessage: on(signOwnMessage),
    walletHdKeys: on((wallet, activeOnly, withPrivate, signal) =>
      wallet.inSlices(hdKeys(wallet, activeOnly, withPrivate), signal),
    ),
    walletAddHdKey: on(addHdKey),
    walletDeriveHdKey: on(deriveHdKey),
    walletExportWatchOnly: act((wallets, name, file) => wallets.backups.exportWatchOnly(name, file)),
    walletImportPruned: alone(async (wallet, raw, block, index) => {
      await importPrunedFunds(wallet, raw, block, index);
      return null;
    }),
    walletRemovePruned: alone(async (wallet, txid) => {
      await removePrunedFunds(wallet, txid);
      return null;
    }),
    walletAbandon: alone(async (wallet, txid) => {
      await wallet.abandonTransaction(txid);
      return null;
    }),
  };
}

function addressType(type: string): AddressType {
  return isAddressType(type) ? type : walletFail('invalidAddressOrKey', `Unknown address type '${type}'`);
}

function ensureEncrypted(wallet: Wallet, method: string): void {
  if (!wallet.vault.encrypted)
    walletFail('wrongEncryptionState', `Error: running with an unencrypted wallet, but ${method} was called.`);
}

function ensureNotScanning(wallet: Wallet, before: string): void {
  if (wallet.scanner.scanning)
    walletFail(
      'wallet',
      `Error: the wallet is currently being used to rescan the blockchain for related transactions. Please call \`abortrescan\` ${before}.`,
    );
}
