# What zsh makes of a command line and a TAB. usage: zsh -f complete.zsh FOLDER LINE
# FOLDER has the file _berth. The shell runs in a pseudo-terminal, since zsh completes only there.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; bindkey '^I' complete-word; print RE''ADY"
zpty -r shell output '*READY*'
zpty -w -n shell "$2"$'\t'
output=
repeat 100; do
    while zpty -r -t shell more; do output+=$more; done
    [[ $output == *$3* ]] && break
    sleep 0.1
done
zpty -d shell
print -r -- $output
