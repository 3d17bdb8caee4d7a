import { describe, expect, test } from '@jest/globals';
import { parseMessageHead } from '../src/http/messages/message-head.ts';
import { PieceReader } from './piece-reader.ts';

const head = (field: string) => parseMessageHead(`HTTP/1.1 200 OK\r\n${field}`);

function reader(field: string, takes: () => boolean = () => true) {
  const pieces: string[] = [];
  const resumes: (() => void)[] = [];
  let resumed = 0;
  const room = () => new Uint8Array(8);
  const take = (piece: Buffer, resume: () => void) => {
    pieces.push(piece.toString());
    resumes.push(resume);
    return takes();
  };
  const it = new PieceReader(head(field), { take, room, onResume: () => resumed++ });
  return { it, pieces, resumes, room, resumed: () => resumed };
}

describe('a body in pieces', () => {
  test('is passed on without its framing, and the number of its bytes is returned', () => {
    const { it, pieces } = reader('Transfer-Encoding: chunked');
    expect(it.push(Buffer.from('3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nHTTP'))).toBe(20);
    expect(pieces.join('')).toBe('abcde');
    expect(it.ended).toBe(true);
  });

  test('is read into given memory only if it has no framing between its bytes', () => {
    const plain = reader('Content-Length: 5');
    expect(plain.it.room).toBe(plain.room);
    expect(reader('Transfer-Encoding: chunked').it.room).toBeUndefined();
  });

  test('pauses and resumes once when its receiver asks for it', () => {
    let takes = false;
    const { it, resumes, resumed } = reader('Content-Length: 9', () => takes);
    it.push(Buffer.from('abc'));
    expect(it.paused).toBe(true);
    resumes[0]?.();
    resumes[0]?.();
    expect([it.paused, resumed()]).toEqual([false, 1]);
    takes = true;
    it.push(Buffer.from('def'));
    resumes[1]?.();
    expect(resumed()).toBe(1);
  });

  test('does not resume after its end, when the connection may have the next body', () => {
    const { it, resumes, resumed } = reader('Content-Length: 3', () => false);
    it.push(Buffer.from('abc'));
    expect([it.ended, it.paused]).toEqual([true, true]);
    it.stop();
    resumes[0]?.();
    expect(resumed()).toBe(0);
  });

  test('passes nothing on once its receiver has given up in the middle of a read', () => {
    const given: string[] = [];
    const it: PieceReader = new PieceReader(head('Transfer-Encoding: chunked'), {
      take(piece) {
        given.push(piece.toString());
        it.stop();
        return true;
      },
      room: undefined,
      onResume() {},
    });
    it.push(Buffer.from('1\r\na\r\n1\r\nb\r\n'));
    expect(given).toEqual(['a']);
  });

  test('ends with its connection if it has no length, and is cut short if it has one', () => {
    expect(reader('Server: x').it.close()).toBe(true);
    expect(reader('Content-Length: 3').it.close()).toBe(false);
    expect(() => reader('Transfer-Encoding: gzip')).toThrow(
      expect.objectContaining({ code: 'malformed-response' }),
    );
  });
});
