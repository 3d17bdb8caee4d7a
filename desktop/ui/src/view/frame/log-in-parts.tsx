/** Parts of the pages that ask who somebody is. */

import { Field } from '@millrace/shared/ui/fields';
import { type ComponentProps, useState } from 'react';
import { logIn, type SessionAnswer } from '../../api/session.ts';
import { useApp } from '../common/context.tsx';

/** Logs in, and connects the page once that has succeeded. */
export function useLogIn() {
  const app = useApp();
  const [working, setWorking] = useState(false);
  const submit = async (given: Parameters<typeof logIn>[0]): Promise<SessionAnswer> => {
    setWorking(true);
    const answer = await logIn(given);
    setWorking(false);
    if (answer === 'good') {
      app.store.set({ link: { kind: 'connecting' } });
      app.connection.connect();
    }
    return answer;
  };
  return { working, submit };
}

type SecretFieldProps = Omit<ComponentProps<typeof Field>, 'after' | 'type' | 'autoComplete'> & {
  /** Label of the button that shows what was typed. */
  readonly show: string;
};

/** A field for a password or a token, which is hidden until its user wants to see it. */
export function SecretField({ show, ...field }: SecretFieldProps) {
  const [shown, setShown] = useState(false);
  return (
    <Field
      {...field}
      type={shown ? 'text' : 'password'}
      autoComplete="current-password"
      after={
        <button
          type="button"
          className="button"
          aria-pressed={shown}
          onClick={() => setShown(!shown)}
        >
          {show}
        </button>
      }
    />
  );
}
