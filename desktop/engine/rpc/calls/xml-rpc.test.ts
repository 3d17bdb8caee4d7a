import { describe, expect, test } from '@jest/globals';
import { faultIn, readXmlCall, xmlAnswer } from './xml-rpc.ts';

const callWith = (value: string) =>
  `<?xml version="1.0"?><methodCall><methodName>aria2.addUri</methodName><params>
   <param><value>${value}</value></param></params></methodCall>`;
const readValue = (value: string) => readXmlCall(callWith(value)).params[0];
const CALL = { method: 'aria2.tellStatus', params: [] };
const answerOf = (result: unknown, call = CALL) =>
  xmlAnswer({ id: null, jsonrpc: '2.0', result }, call);

describe('a call in XML', () => {
  test.each([
    ['<string>a &amp; b</string>', 'a & b'],
    ['plain text', 'plain text'],
    ['<string></string>', ''],
    ['', ''],
    ['<int>-7</int>', -7],
    ['<i4>7</i4>', 7],
    ['<double>1.5</double>', 1.5],
    ['<boolean>1</boolean>', true],
    ['<boolean>0</boolean>', false],
    ['<base64>aGVs\nbG8=</base64>', 'aGVsbG8='],
    ['<array><data><value>a</value><value><int>1</int></value></data></array>', ['a', 1]],
    [
      '<struct><member><name>__proto__</name><value><int>1</int></value></member></struct>',
      JSON.parse('{"__proto__":1}'),
    ],
  ])('has the value %s', (xml, value) => expect(readValue(xml)).toEqual(value));

  test('names a method', () => {
    const bare = '<methodCall><methodName> system.listMethods </methodName></methodCall>';
    expect(readXmlCall(bare)).toEqual({ method: 'system.listMethods', params: [] });
  });

  test.each([
    ['no XML', 'xx'],
    ['another document', '<metalink/>'],
    ['no method', '<methodCall/>'],
    ['a word for a number', callWith('<int>x</int>')],
    ['a number without digits', callWith('<int></int>')],
    ['a type that is not known', callWith('<date>1</date>')],
    ['a member without a value', callWith('<struct><member><name>a</name></member></struct>')],
    ['an entity', '<!DOCTYPE x [<!ENTITY e "e">]><methodCall>&e;</methodCall>'],
    ['values within values', callWith('<array><data><value>'.repeat(40))],
  ])('with %s is refused', (_name, text) => {
    expect.assertions(1);
    try {
      readXmlCall(text);
    } catch (error) {
      expect(faultIn(error)).toMatch(/line 1|line 2/);
    }
  });
});

describe('an answer in XML', () => {
  test('has the types of its values', () => {
    expect(answerOf({ a: '<&>', n: 5, big: 2 ** 40, on: true, none: null, list: ['x'] })).toBe(
      '<?xml version="1.0"?><methodResponse><params><param><value><struct>' +
        '<member><name>a</name><value><string>&#60;&#38;&#62;</string></value></member>' +
        '<member><name>n</name><value><int>5</int></value></member>' +
        '<member><name>big</name><value><double>1099511627776</double></value></member>' +
        '<member><name>on</name><value><boolean>1</boolean></value></member>' +
        '<member><name>none</name><value><nil/></value></member>' +
        '<member><name>list</name><value><array><data><value><string>x</string></value></data>' +
        '</array></value></member></struct></value></param></params></methodResponse>',
    );
  });

  test('says what has failed, in a multicall too', () => {
    const error = { code: 1, message: 'GID a is not found' };
    const fault =
      '<struct><member><name>faultCode</name><value><int>1</int></value></member><member>' +
      '<name>faultString</name><value><string>GID a is not found</string></value></member></struct>';
    expect(xmlAnswer({ id: null, jsonrpc: '2.0', error }, CALL)).toContain(
      `<methodResponse><fault><value>${fault}</value></fault>`,
    );
    expect(answerOf([['OK'], error], { method: 'system.multicall', params: [] })).toContain(
      `<data><value><array><data><value><string>OK</string></value></data></array></value>` +
        `<value>${fault}</value></data>`,
    );
  });

  test('has no character that XML cannot have', () => {
    expect(answerOf('a\u0000\u001b\ud800 \u{1f600}\ufffe')).toContain(
      '<string>a\ufffd\ufffd\ufffd \u{1f600}\ufffd</string>',
    );
  });
});
