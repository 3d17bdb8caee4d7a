/** `tracker.ts PORT`: a BitTorrent tracker (BEP 3, BEP 23) of one swarm; it names all peers. */

import { createServer } from 'node:http';
import { bencoded } from './torrent.ts';

/** Announce interval: short, because peers found early help most. */
const INTERVAL_SECONDS = 2;

const peers = new Map<string, Buffer>();

/** Encodes a peer: four bytes of address, two of port. */
function compact(address: string, port: number): Buffer {
  const numbers = address.replace('::ffff:', '').split('.').map(Number);
  return Buffer.from([...numbers, port >> 8, port & 255]);
}

createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://tracker');
  const address = request.socket.remoteAddress ?? '';
  const port = Number(searchParams.get('port'));
  const self = `${address}:${port}`;
  if (searchParams.get('event') === 'stopped') peers.delete(self);
  else peers.set(self, compact(address, port));
  const others = [...peers].filter(([name]) => name !== self).map(([, bytes]) => bytes);
  response.end(
    bencoded({
      interval: INTERVAL_SECONDS,
      'min interval': INTERVAL_SECONDS,
      peers: Buffer.concat(others),
    }),
  );
}).listen(Number(process.argv[2]));
