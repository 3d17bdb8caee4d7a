/**
 * Requests whose target has bytes above ASCII. Node's parser refuses them; here the target is
 * percent-encoded and the request parsed once more, by a new parser on the same connection. It is
 * the last request of its connection, so that there is never a third parser.
 */

import type { Socket } from 'node:net';
import {
  encodeRawTarget,
  hasRawTarget,
  MAX_TARGET_BYTES,
} from '@millrace/shared/http/urls/raw-target';
import { HEADERS_MS } from './http-limits.ts';
import { begunLine, type ParserError, parseOneRequest, releaseParser } from './http1-parser.ts';

/** Connections whose last request is being parsed. */
const parsedAgain = new WeakSet<Socket>();

/**
 * Parses a request once more if nothing but its target is at fault. To be called only when no
 * response is unfinished on the connection.
 *
 * @param error of the parser that has refused the request
 * @param refuse answers with a status and ends the connection; for requests whose line does not end
 * @returns false, with nothing done, if something else is at fault
 */
export function parseRawTarget(
  { code, rawPacket, bytesParsed = 0 }: ParserError,
  socket: Socket,
  refuse: (status: string) => void,
): boolean {
  if (code !== 'HPE_INVALID_URL' || rawPacket === undefined) return false;
  const begun = begunLine(socket);
  if (begun === undefined || parsedAgain.has(socket)) return false;
  let packet = Buffer.concat([begun, rawPacket]);
  if (!hasRawTarget(packet, begun.length + bytesParsed)) return false;
  if (!releaseParser(socket)) return false;
  parsedAgain.add(socket);
  const stop = () => {
    clearTimeout(timer);
    socket.removeListener('data', onData).removeListener('end', onEnd);
    socket.removeListener('close', stop);
  };
  const onEnd = () => {
    stop();
    refuse('400 Bad Request');
  };
  const onData = (data: Buffer) => {
    packet = Buffer.concat([packet, data]);
    parse();
  };
  const parse = () => {
    const encoded = encodeRawTarget(packet);
    if (encoded !== undefined) {
      stop();
      socket.pause();
      // The parser that was given back is the next to be taken: its call stack has to end first.
      setImmediate(() => {
        if (!socket.destroyed) parseOneRequest(socket, encoded);
      });
    } else if (packet.length > MAX_TARGET_BYTES) {
      stop();
      refuse('431 Request Header Fields Too Large');
    }
  };
  const timer = setTimeout(() => {
    stop();
    refuse('408 Request Timeout');
  }, HEADERS_MS);
  socket.on('data', onData).on('end', onEnd).on('close', stop);
  parse();
  if (socket.isPaused() && socket.listenerCount('data') > 0) socket.resume();
  return true;
}
