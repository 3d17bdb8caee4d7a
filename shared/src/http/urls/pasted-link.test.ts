import { describe, expect, test } from '@jest/globals';
import { parsePastedLink } from './pasted-link.ts';

const EDGES = ['https://edge.example', 'http://127.0.0.1:3125/'];
const read = (text: string) => parsePastedLink(text, EDGES, 'https').href;

describe('parsePastedLink', () => {
  test.each([
    ['https://a.example/f.iso', 'https://a.example/f.iso'],
    ['  http://a.example/f.iso\n', 'http://a.example/f.iso'],
    ['<https://a.example/f.iso>', 'https://a.example/f.iso'],
    ['a.example/f.iso', 'https://a.example/f.iso'],
    ['https://a.example/f.iso#section', 'https://a.example/f.iso'],
    ['https://a.example/a file ü.iso', 'https://a.example/a%20file%20%C3%BC.iso'],
    ['https://edge.example/https://a.example/f.iso', 'https://a.example/f.iso'],
    ['http://127.0.0.1:3125/a.example/f.iso', 'https://a.example/f.iso'],
  ])('reads %j', (text, url) => {
    expect(read(text)).toBe(url);
  });

  test.each([
    ['', 'bad-url'],
    ['   ', 'bad-url'],
    ['ftp://a.example/f.iso', 'bad-url'],
    ['javascript:alert(1)', 'bad-url'],
    ['https://', 'bad-url'],
    ['https://user:secret@a.example/f.iso', 'credentials-in-url'],
    [`https://a.example/${'x'.repeat(9000)}`, 'url-too-long'],
  ])('refuses %j', (text, code) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code }));
  });
});
