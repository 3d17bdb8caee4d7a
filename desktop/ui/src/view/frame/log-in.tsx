/** The page of users who are not logged in: asks for the token, or a link of the command line. */

import { Field } from '@millrace/shared/ui/fields';
import { Logo } from '@millrace/shared/ui/icons';
import { type FormEvent, useState } from 'react';
import { logIn, type SessionAnswer } from '../../api/session.ts';
import { useApp, useText } from '../common/context.tsx';

const COMMAND = 'millrace open';

export function LogIn({ answer: first }: { answer: SessionAnswer | undefined }) {
  const text = useText();
  const app = useApp();
  const [token, setToken] = useState('');
  const [shown, setShown] = useState(false);
  const [answer, setAnswer] = useState(first);
  const [typed, setTyped] = useState(false);
  const [working, setWorking] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setWorking(true);
    const got = await logIn({ token: token.trim() });
    setWorking(false);
    setTyped(true);
    setAnswer(got);
    if (got !== 'good') return;
    app.store.set({ link: { kind: 'connecting' } });
    app.connection.connect();
  };
  const problems = {
    good: undefined,
    refused: typed ? text.t('login.wrong') : text.t('login.code'),
    slow: text.t('login.slow'),
    offline: text.t('login.offline'),
  };
  return (
    <main className="log-in">
      <form className="log-in-card" onSubmit={(event) => void submit(event)}>
        <Logo size={44} />
        <h1>{text.t('login.title')}</h1>
        <p className="quiet">{text.t('login.text')}</p>
        <code>{COMMAND}</code>
        <p className="quiet">{text.t('login.or')}</p>
        <Field
          label={text.t('login.token')}
          type={shown ? 'text' : 'password'}
          autoComplete="current-password"
          autoFocus
          value={token}
          problem={answer === undefined ? undefined : problems[answer]}
          onChange={(event) => setToken(event.target.value)}
          after={
            <button
              type="button"
              className="button"
              aria-pressed={shown}
              onClick={() => setShown(!shown)}
            >
              {text.t('login.show')}
            </button>
          }
        />
        <button type="submit" className="button primary" disabled={token.trim() === '' || working}>
          {text.t(working ? 'login.working' : 'login.submit')}
        </button>
      </form>
    </main>
  );
}
