import { expect, test } from '@jest/globals';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import { RedirectFields } from './redirects.ts';

test('of several redirects the first one describes the file, and fields not named stay behind', () => {
  const fields = new RedirectFields(['x-commit', 'x-size']);
  fields.take({ 'x-commit': 'a', 'x-other': 'o' });
  fields.take({ 'x-commit': 'b', 'x-size': ['5'] });
  const { headers } = fields.addTo({
    headers: { 'x-commit': 'c', etag: '"e"' },
  } as unknown as HttpAnswer);
  expect(headers).toEqual({ 'x-commit': 'a', 'x-size': '5', etag: '"e"' });
});
