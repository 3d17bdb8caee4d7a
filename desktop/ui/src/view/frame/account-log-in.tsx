/** The page of users of other machines who are not logged in: an account, or a pairing code. */

import { Field } from '@millrace/shared/ui/fields';
import { Logo } from '@millrace/shared/ui/icons';
import { type FormEvent, useState } from 'react';
import type { SessionAnswer } from '../../api/session.ts';
import { useText } from '../common/context.tsx';
import { SecretField, useLogIn } from './log-in-parts.tsx';

export function AccountLogIn() {
  const text = useText();
  const [byCode, setByCode] = useState(false);
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [answer, setAnswer] = useState<SessionAnswer | undefined>(undefined);
  const { working, submit: logIn } = useLogIn();
  const isComplete = byCode ? code.trim() !== '' : name.trim() !== '' && password !== '';
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete || working) return;
    setAnswer(await logIn(byCode ? { pairingCode: code } : { name: name.trim(), password }));
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
            <SecretField
              label={text.t('login.password')}
              show={text.t('login.showPassword')}
              problem={problem}
              value={password}
              onChange={(event) => setPassword(event.target.value)}
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
