/** The page of users of other machines who are not logged in: an account, or a pairing code. */

import { Field } from '@millrace/shared/ui/fields';
import { Logo } from '@millrace/shared/ui/icons';
import { type FormEvent, useState } from 'react';
import { logIn, type SessionAnswer } from '../../api/session.ts';
import { useApp, useText } from '../common/context.tsx';

export function AccountLogIn() {
  const text = useText();
  const app = useApp();
  const [byCode, setByCode] = useState(false);
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [shown, setShown] = useState(false);
  const [answer, setAnswer] = useState<SessionAnswer | undefined>(undefined);
  const [working, setWorking] = useState(false);
  const isComplete = byCode ? code.trim() !== '' : name.trim() !== '' && password !== '';
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete || working) return;
    setWorking(true);
    const got = await logIn(byCode ? { pairingCode: code } : { name: name.trim(), password });
    setWorking(false);
    setAnswer(got);
    if (got !== 'good') return;
    app.store.set({ link: { kind: 'connecting' } });
    app.connection.connect();
  };
  const other = () => {
    setByCode(!byCode);
    setAnswer(undefined);
  };
  const problems = {
    good: undefined,
    refused: text.t(byCode ? 'login.wrongCode' : 'login.wrongAccount'),
    slow: text.t('login.slowAccount'),
    offline: text.t('login.offline'),
  };
  const problem = answer === undefined ? undefined : problems[answer];
  return (
    <main className="log-in">
      <form className="log-in-card" onSubmit={(event) => void submit(event)} noValidate>
        <Logo size={44} />
        <h1>{text.t('login.title')}</h1>
        <p className="quiet">{text.t('login.account', { host: location.hostname })}</p>
        {byCode ? (
          <Field
            key="code"
            label={text.t('login.pairingCode')}
            note={text.t('login.pairingNote')}
            problem={problem}
            autoComplete="one-time-code"
            autoCapitalize="characters"
            autoFocus
            spellCheck={false}
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        ) : (
          <>
            <Field
              key="name"
              label={text.t('login.name')}
              autoComplete="username"
              autoCapitalize="none"
              autoFocus
              spellCheck={false}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <Field
              label={text.t('login.password')}
              type={shown ? 'text' : 'password'}
              autoComplete="current-password"
              problem={problem}
              value={password}
              onChange={(event) => setPassword(event.target.value)}
              after={
                <button
                  type="button"
                  className="button"
                  aria-pressed={shown}
                  onClick={() => setShown(!shown)}
                >
                  {text.t('login.showPassword')}
                </button>
              }
            />
          </>
        )}
        <button type="submit" className="button primary" disabled={!isComplete || working}>
          {text.t(working ? 'login.working' : 'login.submit')}
        </button>
        <button type="button" className="button" onClick={other}>
          {text.t(byCode ? 'login.byPassword' : 'login.byCode')}
        </button>
      </form>
    </main>
  );
}
