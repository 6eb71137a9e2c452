import { type Address, hostPortText, type Setting } from '../config/setting.ts';
import { KEYS, SETTINGS } from '../config/settings.ts';
import { variableOf } from '../config/sources.ts';

/** Returns the description and default of every setting, formatted for a terminal. */
export function configHelp(): string {
  const entries = KEYS.map((key) => {
    const setting: Setting<unknown> = SETTINGS[key];
    return `  ${key}\n      ${setting.help}\n      ${allowedText(setting)}; default ${defaultText(setting)}${setting.live ? '; applied by SIGHUP' : ''}\n`;
  });
  return `A setting is given as a flag, as an environment variable or in the TOML file that --config names, and they take
precedence in this order. Its variable is OBVERSE_ and the key in capitals: ${variableOf('http.allowedHosts')} is
http.allowedHosts. Flags and variables separate the elements of a list by commas. Short forms: --dev is --dev.enabled,
--import FILE is --import.files FILE.

SIGHUP (systemctl reload obverse) reads the settings again and applies those that say so. All others apply after a restart.

${entries.join('\n')}`;
}

/** Returns the allowed values of a setting and their unit. */
export function allowedText({ allowed, unit }: Setting<unknown>): string {
  return unit ? `${allowed}, in ${unit}` : allowed;
}

/** Returns the default of a setting on mainnet, or the words that describe it. */
export function defaultText(setting: Setting<unknown>): string {
  if (setting.defaultText) return setting.defaultText;
  const value = setting.fallback({ network: 'main', dev: false, dataHome: '', cores: 1, memory: 0 });
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  if (Array.isArray(value)) return value.join(',');
  return setting.kind === 'address' ? hostPortText(value as Address) : String(value);
}

/** Returns the event after which a change of a setting applies. */
export function changeApplies({ live }: Setting<unknown>): 'a reload' | 'a restart' {
  return live ? 'a reload' : 'a restart';
}
