// Writes the generated files of the clients: `npm run generate:clients`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiText } from './documents.ts';
import { generatedClients } from './generated-clients.ts';

const root = join(import.meta.dir, '../..');
for (const [path, text] of Object.entries(await generatedClients(await openApiText()))) {
  writeFileSync(join(root, path), text);
  console.log(path);
}
process.exit(0);
