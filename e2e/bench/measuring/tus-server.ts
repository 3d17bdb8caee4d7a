/**
 * A server of the tus protocol by its own project (`@tus/server`), beside which depots are measured:
 * `node tus-server.ts PORT FOLDER`. New uploads begin at `/files`.
 */

import { FileStore } from '@tus/file-store';
import { Server } from '@tus/server';

const [port, directory = '.'] = process.argv.slice(2);
const server = new Server({ path: '/files', datastore: new FileStore({ directory }) });
server.listen({ host: '127.0.0.1', port: Number(port) });
