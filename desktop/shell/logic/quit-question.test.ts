import { expect, test } from '@jest/globals';
import { wordsFor } from '../text/words.ts';
import { QUIT_ANSWERS, type QuitState, quitQuestion } from './quit-question.ts';

const en = wordsFor(['en']);
const de = wordsFor(['de']);

const state: QuitState = { active: 2, waiting: 3, endsDaemon: true, forced: false };

test('asks if downloads would stop', () => {
  const question = quitQuestion(state, en);
  expect(question?.message).toBe('Quit while 2 downloads are running?');
  expect(question?.detail).toMatch(/3 more are waiting/);
  expect(question?.buttons).toHaveLength(QUIT_ANSWERS.length);
  expect(quitQuestion({ ...state, active: 1 }, de)?.message).toMatch(/1 Download läuft/);
});

test.each<[string, Partial<QuitState>]>([
  ['nothing runs', { active: 0 }],
  ['the daemon keeps running without the app', { endsDaemon: false }],
  ['there is nobody to ask', { forced: true }],
])('does not ask if %s', (_, changes) => {
  expect(quitQuestion({ ...state, ...changes }, en)).toBeUndefined();
});
