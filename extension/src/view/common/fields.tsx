/** Fields of forms, with their labels and what is wrong with them. */

import {
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useId,
  useState,
} from 'react';

interface Words {
  readonly label: string;
  readonly note?: ReactNode;
  readonly problem?: string | undefined;
}

interface FieldProps extends Words {
  /** Draws the field itself. */
  readonly children: (about: {
    readonly id: string;
    readonly 'aria-invalid': boolean;
    readonly 'aria-describedby': string | undefined;
  }) => ReactNode;
}

function Field({ label, note, problem, children }: FieldProps) {
  const id = useId();
  const says = problem ?? note;
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        'aria-invalid': problem !== undefined,
        'aria-describedby': says ? `${id}-note` : undefined,
      })}
      {says && (
        <span
          id={`${id}-note`}
          className={`note${problem ? ' bad' : ''}`}
          role={problem ? 'alert' : undefined}
        >
          {says}
        </span>
      )}
    </div>
  );
}

export function TextField({
  label,
  note,
  problem,
  ...input
}: Words & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field label={label} note={note} problem={problem}>
      {(about) => (
        <input className="input" spellCheck={false} autoComplete="off" {...about} {...input} />
      )}
    </Field>
  );
}

export function TextArea({
  label,
  note,
  problem,
  ...area
}: Words & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field label={label} note={note} problem={problem}>
      {(about) => (
        <textarea className="textarea" spellCheck={false} autoComplete="off" {...about} {...area} />
      )}
    </Field>
  );
}

interface SwitchProps {
  readonly label: ReactNode;
  readonly note?: string | undefined;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export function Switch({ label, note, checked, onChange }: SwitchProps) {
  const id = useId();
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        aria-checked={checked}
        aria-labelledby={id}
        aria-describedby={note ? `${id}-note` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="switch-words">
        <span id={id}>{label}</span>
        {note && (
          <span id={`${id}-note`} className="note">
            {note}
          </span>
        )}
      </span>
    </label>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly note?: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** One of a few, side by side: radio buttons. */
export function Choice<T extends string>({
  label,
  note,
  options,
  value,
  onChange,
}: ChoiceProps<T>) {
  const name = useId();
  const [focus, setFocus] = useState(false);
  return (
    <div className="field">
      <span className="label" id={`${name}-label`}>
        {label}
      </span>
      <span
        className="choice"
        role="radiogroup"
        aria-labelledby={`${name}-label`}
        aria-describedby={note ? `${name}-note` : undefined}
      >
        {options.map((option) => (
          <label
            key={option.value}
            className={`${option.value === value ? 'on' : ''}${option.value === value && focus ? ' focus' : ''}`}
          >
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onFocus={(event) => setFocus(event.target.matches(':focus-visible'))}
              onBlur={() => setFocus(false)}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </span>
      {note && (
        <span id={`${name}-note`} className="note">
          {note}
        </span>
      )}
    </div>
  );
}
