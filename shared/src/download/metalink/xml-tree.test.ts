import { describe, expect, test } from '@jest/globals';
import { isMillraceError } from '../../base/errors.ts';
import { childElements, plainElement, XmlDocument } from './xml-tree.ts';

function refusal(document: string | Uint8Array): string {
  try {
    new XmlDocument(document);
  } catch (error) {
    if (isMillraceError(error, 'bad-metalink')) return error.detail;
    throw error;
  }
  throw new Error('the document was accepted');
}

describe('trees of XML documents', () => {
  test('have elements, attributes and text with prefixes resolved', () => {
    const { root } = new XmlDocument(
      '<?xml version="1.0"?><!-- x --><a xmlns="urn:a" b="1" xmlns:p="urn:p" p:b="2"><?x?><p:c>t<![CDATA[<]]>u</p:c> v</a>',
    );
    expect(plainElement(root)).toEqual({
      uri: 'urn:a',
      local: 'a',
      attributes: [
        { uri: '', local: 'b', value: '1' },
        { uri: 'urn:p', local: 'b', value: '2' },
      ],
      content: [{ uri: 'urn:p', local: 'c', attributes: [], content: ['t<u'] }, ' v'],
    });
  });

  test.each([
    '<b/>',
    '<b />',
    '<b\n/>',
    '<b></b>',
    '<b\r\n></b>',
    '<b\r\nc="&lt;b"></b>',
    '<b>\n</b>',
  ])('the position of %j is its beginning', (element) => {
    const at = (document: string) => {
      const doc = new XmlDocument(document);
      const [last] = childElements(doc.root).slice(-1);
      return () => last && doc.fail(last, 'no');
    };
    expect(at(`<a>${element}</a>`)).toThrow(/line 1, column 4, <b>: no$/);
    expect(at(`<a>${element}${element}</a>`)).toThrow(/, <b>: no$/);
    expect(at(`<a>\n\r\n\r ${element}</a>`)).toThrow(/line 4, column 2, <b>: no$/);
  });
});

describe('hostile XML documents', () => {
  test('entities that grow a thousandfold are refused without being expanded', () => {
    const bomb = '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><m>&b;</m>';
    expect(refusal(bomb)).toMatch(/^line 1, column \d+: document types and entities are not/);
    expect(refusal('<!DOCTYPE m SYSTEM "file:///etc/passwd"><m/>')).toContain('document types');
  });

  test('depth, number and size have limits', () => {
    expect(refusal('<a>'.repeat(100_000))).toContain('more than 32 elements inside each other');
    expect(refusal(`<a>${'<b/>'.repeat(400_001)}`)).toContain('more than 400000 elements');
    const attributes = Array.from({ length: 65 }, (_, i) => `a${i}=""`);
    expect(refusal(`<a ${attributes.join(' ')}/>`)).toBe(
      'line 1, column 1: more than 64 attributes',
    );
    expect(refusal(' '.repeat(16 * 1024 * 1024 + 1))).toBe('it is larger than 16 MiB');
    expect(refusal(new Uint8Array(16 * 1024 * 1024 + 1))).toBe('it is larger than 16 MiB');
  });
});

describe('encodings', () => {
  const document = (encoding?: string) =>
    `${encoding === undefined ? '' : `<?xml version="1.0" encoding="${encoding}"?>`}<a>ü</a>`;

  test.each([
    ['UTF-8', Buffer.from(document())],
    ['UTF-8, declared', Buffer.from(document('UTF-8'))],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${document('utf-8')}`)],
    ['ISO 8859-1', Buffer.from(document('ISO-8859-1'), 'latin1')],
    ['UTF-16, little-endian', Buffer.from(`\ufeff${document('UTF-16')}`, 'utf16le')],
    ['UTF-16, big-endian', Buffer.from(`\ufeff${document()}`, 'utf16le').swap16()],
    ['text with a byte order mark', `\ufeff${document()}`],
  ])('%s', (_, bytes) => {
    expect(new XmlDocument(bytes).root.content).toEqual(['ü']);
  });

  test('bytes that do not match their encoding are refused', () => {
    expect(refusal(Buffer.from(document(), 'latin1'))).toBe('it is not text in utf-8');
    expect(refusal(Buffer.from(document('utf-7')))).toBe('it is not text in utf-7');
    expect(refusal(Buffer.from([0, 1, 2, 3]))).toMatch(/^line 1/);
  });
});
