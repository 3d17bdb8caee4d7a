import { describe, expect, test } from '@jest/globals';
import { manageLinkIn, manageLinkOf, writeLinkOf } from './manage-link.ts';

const ID = 'ABCDEFGHIJKLMNOP';
const SECRET = 's'.repeat(32);
const read = `https://a.example/-/d/${ID}/${SECRET}/talk.bin`;
const manage = `https://b.example:444/-/depot/m/${ID}/${SECRET}`;

describe('the address that manages a replica', () => {
  test('is taken for the allocation that is read, or if that is read elsewhere', () => {
    expect(manageLinkOf({ read, at: 0, manage })).toBe(manage);
    expect(manageLinkOf({ read: 'https://a.example/talk.bin', at: 0, manage })).toBe(manage);
    expect(manageLinkOf({ read, at: 0 })).toBeUndefined();
  });

  test.each([
    manage.replace('/m/', '/w/'),
    `${manage}?blocks=65536`,
    `${manage}/x`,
    'https://printer.example/admin/reset',
    'https://user:password@b.example/-/depot/m/ABCDEFGHIJKLMNOP/ssssssssssssssssssssssssssssssss',
    'x',
  ])('is refused if it is %s, and the error shows no secret', (other) => {
    expect(manageLinkIn(other)).toBeUndefined();
    const thrown = () => manageLinkOf({ read, at: 0, manage: other });
    expect(thrown).toThrow(expect.objectContaining({ code: 'bad-exnode' }));
  });

  test('is refused if it manages another file', () => {
    const other = manage.replace('ABC', 'XYZ');
    const thrown = () => manageLinkOf({ read, at: 0, manage: other });
    expect(thrown).toThrow('manages another file');
    expect(thrown).not.toThrow(SECRET);
  });
});

test('the address that writes a replica is taken for the allocation that is read, and for no other', () => {
  const write = manage.replace('/m/', '/w/');
  expect(writeLinkOf({ read, at: 0, write })).toBe(write);
  const wrong = [undefined, manage, `${write}/pull`, write.replace('ABC', 'XYZ'), 'x'];
  for (const other of wrong) expect(writeLinkOf({ read, at: 0, write: other })).toBeUndefined();
});
