import { expect, test } from '@jest/globals';
import type { FoundLink } from '@millrace/shared/bridge/rpc/adding-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import { FIRST_FORM } from './add-form.ts';
import { asksByItself, asksChange, fewQuestions, questionsOf } from './link-questions.ts';

const link = (name: string, more: Partial<FoundLink> = {}): FoundLink => ({
  url: `https://h.example/${name}`,
  name,
  dir: '/dl',
  metalink: false,
  exnode: false,
  ...more,
});
const asked = (links: readonly FoundLink[], form = FIRST_FORM) =>
  fewQuestions(links, form).map(({ url }) => url.slice(18));

test('a dialog asks by itself about a few links that lead to files, and about none of many', () => {
  expect(asked([link('a.iso'), link('b.iso')])).toEqual(['a.iso', 'b.iso']);
  const left = { 'x.torrent': { metalink: true }, y: { exnode: true }, z: { once: true } } as const;
  expect(asked(Object.entries(left).map(([name, more]) => link(name, more)))).toEqual([]);
  const many = Array.from({ length: 6 }, (_, i) => link(`${i}`));
  expect(asked(many)).toEqual([]);
  expect(questionsOf(many, FIRST_FORM)).toHaveLength(6);
});

test('a dialog does not ask while the form has a mistake', () => {
  expect(asked([link('a')], { ...FIRST_FORM, headers: 'no field' })).toEqual([]);
  expect(asked([link('a')], { ...FIRST_FORM, proxy: { kind: 'own', url: 'x' } })).toEqual([]);
});

test('a question is another one with other header fields, a log-in or a proxy, and with nothing else', () => {
  const key = (form: typeof FIRST_FORM, options?: FoundLink['options']) =>
    questionsOf([link('a', { options })], form)[0]?.key;
  const plain = key(FIRST_FORM);
  const same = { dir: '/elsewhere', file: 'b', limit: '1 MiB/s', start: 'paused', edges: false };
  expect(key({ ...FIRST_FORM, ...same } as typeof FIRST_FORM)).toBe(plain);
  const others = [
    key({ ...FIRST_FORM, headers: 'Cookie: a=b' }),
    key({ ...FIRST_FORM, proxy: { kind: 'direct', url: '' } }),
    key(FIRST_FORM, { login: { user: 'me', password: 'secret' } }),
  ];
  expect(new Set([plain, ...others]).size).toBe(4);
});

test('a dialog asks unless the user has switched that off, and not before the settings are known', () => {
  const withPreferences = (preferences: object) => ({ preferences }) as AppSettings;
  expect(asksByItself(undefined)).toBe(false);
  expect(asksByItself(withPreferences({}))).toBe(true);
  expect(asksByItself(withPreferences(asksChange(false).preferences ?? {}))).toBe(false);
  expect(asksChange(true)).toEqual({ preferences: { askLinks: null } });
});
