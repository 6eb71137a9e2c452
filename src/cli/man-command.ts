import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../util/build-version.ts';
import { OperatorError } from '../util/operator-error.ts';
import { didYouMean } from '../util/suggest.ts';
import { type Command, type CommandTable, UsageError } from './command.ts';
import { splitOwnFlags } from './own-flags.ts';

/** The command that prints or writes the manual pages. */
export const manCommand = (commands: CommandTable): Command => ({
  usage: 'man [PAGE] [--out DIR]',
  description: `Prints a manual page, obverse (the default) or obverse.toml, in the format of man, or writes both into a folder with
the layout of a manual path.`,
  options: [['--out DIR', 'write man1/obverse.1 and man5/obverse.toml.5 below this folder']],
  examples: ['obverse man | man -l -', 'obverse man --out /usr/local/share/man'],
  async run(args, { out }) {
    const { values, rest } = splitOwnFlags(args, { '--out': 'text' });
    const { MAN_PAGES, manPage } = await import('./man-pages.ts');
    const { commandFacts } = await import('./command-facts.ts');
    const names = Object.keys(MAN_PAGES) as (keyof typeof MAN_PAGES)[];
    const [given = 'obverse', ...more] = rest;
    const page = names.find((name) => name === given);
    if (page === undefined || more.length > 0)
      throw new UsageError(`man takes one of ${names.join(', ')}${didYouMean(given, names)}`);
    const facts = await commandFacts(commands);
    const folder = values.get('--out')?.[0];
    if (folder === undefined) {
      out(manPage(page, VERSION, facts));
      return 0;
    }
    for (const name of names) {
      const section = MAN_PAGES[name];
      const file = join(folder, `man${section}`, `${name}.${section}`);
      try {
        mkdirSync(join(folder, `man${section}`), { recursive: true });
        writeFileSync(file, manPage(name, VERSION, facts));
      } catch (error) {
        throw new OperatorError(`${file} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
      }
      out(`${file}\n`);
    }
    return 0;
  },
});
