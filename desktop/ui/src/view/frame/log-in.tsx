/** The page of users who are not logged in: asks for the token, or a link of the command line. */

import { Logo } from '@millrace/shared/ui/icons';
import { type FormEvent, useState } from 'react';
import type { SessionAnswer } from '../../api/session.ts';
import { useText } from '../common/context.tsx';
import { SecretField, useLogIn } from './log-in-parts.tsx';

const COMMAND = 'millrace open';

export function LogIn({ answer: first }: { answer: SessionAnswer | undefined }) {
  const text = useText();
  const [token, setToken] = useState('');
  const [answer, setAnswer] = useState(first);
  const [typed, setTyped] = useState(false);
  const { working, submit: logIn } = useLogIn();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const got = await logIn({ token: token.trim() });
    setTyped(true);
    setAnswer(got);
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
        <SecretField
          label={text.t('login.token')}
          show={text.t('login.show')}
          autoFocus
          value={token}
          problem={answer === undefined ? undefined : problems[answer]}
          onChange={(event) => setToken(event.target.value)}
        />
        <button type="submit" className="button primary" disabled={token.trim() === '' || working}>
          {text.t(working ? 'login.working' : 'login.submit')}
        </button>
      </form>
    </main>
  );
}
